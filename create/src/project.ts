/** The files of a new project. */
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failure } from './failure.ts'
import type { Target } from './folder.ts'
import type { TemplateName } from './templates.ts'
import type { Versions } from './versions.ts'

export interface Plan {
  readonly target: Target
  readonly template: TemplateName
  /** What people call the product. */
  readonly productName: string
  readonly versions: Versions
  /** The path of a packed Portico; undefined for the registry's. */
  readonly packed: string | undefined
  readonly bringsNode: boolean
}

const sources = fileURLToPath(new URL('./templates/', import.meta.url))

/** The path that `--portico` names. Throws a `Failure` unless it is a packed package. */
export function packedPath(file: string | undefined, from: string): string | undefined {
  if (file === undefined) return undefined
  const path = resolve(from, file)
  if (file.endsWith('.tgz') && statSync(path, { throwIfNoEntry: false })?.isFile()) return path
  throw new Failure(`--portico ${file}: name a .tgz file that \`npm pack\` created from Portico.`, 2)
}

function packageJson({ target, versions, packed, bringsNode }: Plan): string {
  const description = {
    name: target.name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: `>=${versions.oldestNode}` },
    scripts: {
      dev: 'portico dev',
      seed: 'node --env-file-if-exists=.env seed.ts',
      test: 'node --test',
      check: 'tsc',
      start: 'portico start',
    },
    dependencies: { portico: packed === undefined ? `^${versions.portico}` : `file:${basename(packed)}` },
    devDependencies: { '@types/node': versions.typesOfNode, typescript: versions.typescript },
    // npm installs the one for this machine, and puts it first in the path of every script.
    ...(bringsNode && { optionalDependencies: versions.node }),
  }
  return `${JSON.stringify(description, null, 2)}\n`
}

/** Replaces each `{{name}}`. */
function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '')
}

function writeCommonFiles(plan: Plan): void {
  const from = join(sources, 'common')
  const values = {
    name: plan.target.name,
    request: readFileSync(join(sources, 'requests', `${plan.template}.md`), 'utf8').trim(),
    packed: plan.packed === undefined ? '' : `${basename(plan.packed)} `,
  }
  for (const name of readdirSync(from, { recursive: true, encoding: 'utf8' })) {
    const source = join(from, name)
    if (!statSync(source).isFile()) continue
    // npm omits some files that begin with a dot from packages, or uses them itself.
    const path = join(plan.target.path, name.replace(/^_/, '.'))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, filled(readFileSync(source, 'utf8'), values))
  }
}

/** The settings that are part of the product, not of the place where it runs. */
function configFile({ productName }: Plan): string {
  return `${JSON.stringify({ theme: { name: productName } }, null, 2)}\n`
}

/** Throws a `Failure` if the folder cannot be written. */
export function writeProject(plan: Plan): void {
  const { path } = plan.target
  try {
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'package.json'), packageJson(plan))
    writeFileSync(join(path, 'portico.config.json'), configFile(plan))
    cpSync(join(sources, plan.template), path, { recursive: true })
    writeCommonFiles(plan)
    if (plan.packed !== undefined) copyFileSync(plan.packed, join(path, basename(plan.packed)))
  } catch (error) {
    throw new Failure(`Cannot write to ${path}: ${error instanceof Error ? error.message : error}`)
  }
}
