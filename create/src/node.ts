/** Which Node the project runs on: the machine's, or one that it installs as a package. */
import { join } from 'node:path'
import { Failure } from './failure.ts'
import { machineEnvironment, run } from './programs.ts'
import type { Versions } from './versions.ts'

/** The version of the Node that the project's commands will find, not of one that npm has installed for this command. */
export async function machineNodeVersion(): Promise<string> {
  const { code, output } = await run('node', ['--version'], process.cwd(), machineEnvironment())
  return code === 0 ? output.trim().replace(/^v/, '') : process.versions.node
}

/** The packages are built for the GNU C library, not for musl. */
function hasPackage(versions: Versions, platform: string, processor: string): boolean {
  if (platform === 'linux') {
    const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
    if (header.glibcVersionRuntime === undefined) return false
  }
  return Object.keys(versions.node).some(name => name.endsWith(`${platform.replace('32', '')}-${processor}`))
}

/** Whether the project needs its own Node. Throws a `Failure` if there is no package for this platform. */
export function needsOwnNode(
  versions: Versions,
  version: string,
  platform: string = process.platform,
  processor: string = process.arch,
): boolean {
  if (version.localeCompare(versions.oldestNode, 'en', { numeric: true }) >= 0) return false
  if (hasPackage(versions, platform, processor)) return true
  throw new Failure(
    `Portico needs Node ${versions.oldestNode} or later, and this is Node ${version}. Install a newer one from https://nodejs.org.`,
  )
}

/** Why the installed Node does not run, as a sentence; undefined if it runs. */
export async function ownNodeFault(folder: string, { oldestNode }: Versions): Promise<string | undefined> {
  const { code, output } = await run(join(folder, 'node_modules', '.bin', 'node'), ['--version'], folder)
  if (code === 0) return undefined
  const [, library] = /error while loading shared libraries: (\S+?):/.exec(output) ?? []
  if (library === undefined) {
    return `The Node that npm installed into the project does not run on this machine: install Node ${oldestNode} or later from https://nodejs.org.`
  }
  const how = library.startsWith('libatomic.') ? ' (as root, `apt install libatomic1`)' : ''
  return `The Node that npm installed into the project needs the library ${library}, which this machine lacks: install it${how}, or Node ${oldestNode} or later.`
}
