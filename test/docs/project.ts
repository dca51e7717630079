/** A user's project: the package `portico` in its node_modules, `portico` and `npm` as commands. */
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { isBuilt, program } from '../system/processes/program.ts'

function writeCommand(folder: string, name: string, line: string): void {
  const file = join(folder, name)
  writeFileSync(file, `#!/bin/sh\n${line}\n`)
  chmodSync(file, 0o755)
}

/** `npm start` builds first. In this project it runs `portico start` with this model, unless another one is named. */
function writeCommands(root: string, folder: string): void {
  const portico = [process.execPath, ...program].map(part => `"${part}"`).join(' ')
  const model = join(root, 'examples', 'blog', 'model.ts')
  writeCommand(folder, 'portico', `exec ${portico} "$@"`)
  writeCommand(
    folder,
    'npm',
    `[ "$*" = start ] && PORTICO_MODEL="\${PORTICO_MODEL:-${model}}" exec ${portico} start`,
  )
}

/** Other packages that pages import. */
const imported = ['standardwebhooks']

/** Returns the folder. Its package `portico` is this clone, whose types a compiler reads from the build, or from the sources. */
export function createProject(
  root: string,
  types: 'built' | 'sources' = isBuilt ? 'built' : 'sources',
): string {
  const project = mkdtempSync(join(tmpdir(), 'portico-docs-'))
  const packages = join(project, 'node_modules')
  const bin = join(packages, '.bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(root, join(packages, 'portico'))
  for (const name of imported) symlinkSync(join(root, 'node_modules', name), join(packages, name))
  writeCommands(root, bin)
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  const compilerOptions = {
    target: 'es2024',
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    ...(types === 'sources' && { customConditions: ['portico-source'] }),
    typeRoots: [join(root, 'node_modules', '@types')],
    types: ['node'],
  }
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['*.ts', '*/*.ts'] }),
  )
  return project
}

export function projectEnvironment(project: string): Record<string, string> {
  return {
    PATH: [join(project, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
    HOME: process.env.HOME ?? project,
    ...(process.env.NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
  }
}
