/** openapi-generator, and the programs of its clients that no package provides. */
import { execFile } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installedPath } from '../../programs.ts'
import { install, limits } from './installed.ts'

const run = promisify(execFile)

/** The paths of these programs; undefined for those that the machine lacks. They are too large to be installed for tests. */
export function machinePrograms() {
  const folders = () => [join(homedir(), '.cargo', 'bin')]
  return {
    java: installedPath({ names: ['java'], variable: 'JAVA' }),
    javac: installedPath({ names: ['javac'] }),
    maven: installedPath({ names: ['mvn'], variable: 'MAVEN' }),
    cargo: installedPath({ names: ['cargo'], variable: 'CARGO', folders }),
  }
}

/** The jar of openapi-generator, which the pom.xml in this folder names. */
export async function openapiGenerator(from: string, maven: string): Promise<string> {
  const copy = ['dependency:copy-dependencies', '-DoutputDirectory=.', '-Dmdep.stripVersion=true']
  const folder = await install({
    from,
    files: ['pom.xml'],
    needs: `The test needs the artifact in ${from}/pom.xml, from Maven's repository.`,
    install: cwd => run(maven, ['--quiet', '--batch-mode', ...copy], { ...limits, cwd }),
  })
  return join(folder, 'openapi-generator-cli.jar')
}
