/** `portico generate client`: writes the types of a service's client, from its address or from the model file. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { printable } from '../../../base/printable.ts'
import {
  clientTypesOfModel,
  clientTypesOfService,
  type GenerateOptions,
  standaloneFiles,
  standaloneFolder,
} from '../../generate/generate.ts'
import { Failure } from '../failure.ts'
import { model, type Project, projectOf } from '../options.ts'
import type { Command, ParsedArgs } from './commands.ts'

/** Parses `Authorization: Bearer x`, as curl does. */
function headersOf(args: ParsedArgs): Readonly<Record<string, string>> {
  const entries = args.list('header').map(text => {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*([^\r\n\0]+)$/.exec(text) ?? []
    if (name === undefined || value === undefined) {
      throw new Failure('Write a header as `--header "Authorization: Bearer …"`.', 2)
    }
    return [name.toLowerCase(), value]
  })
  return Object.fromEntries(entries)
}

async function typesOf(args: ParsedArgs, options: GenerateOptions): Promise<string> {
  const from = args.text('from')
  if (from === undefined) {
    const { model: checked, path } = await projectOf(args)
    return clientTypesOfModel(checked, path, options)
  }
  if (args.text('model') !== undefined) throw new Failure('Use `--from` or `--model`, not both.', 2)
  return clientTypesOfService(from, headersOf(args), options)
}

/** Reads the file, without the carriage returns that a checkout may have added. */
function readExisting(out: string): string | undefined {
  if (!existsSync(out)) return undefined
  try {
    return readFileSync(out, 'utf8').replaceAll('\r\n', '\n')
  } catch (error) {
    throw new Failure(`Cannot read ${out}: ${(error as Error).message}.`)
  }
}

function write(out: string, text: string): void {
  try {
    mkdirSync(dirname(out), { recursive: true })
    writeFileSync(out, text)
  } catch (error) {
    throw new Failure(`Cannot write to ${out}: ${(error as Error).message}.`)
  }
}

/** Writes the model's types if the file differs. Returns whether it did. */
export function updateClient(
  out: string,
  { model: checked, path }: Pick<Project, 'model' | 'path'>,
): boolean {
  const text = clientTypesOfModel(checked, path)
  if (readExisting(out) === text) return false
  write(out, text)
  return true
}

/** Describes how the file differs from the text that would be written. */
function difference(out: string, before: string | undefined, after: string): string {
  const advice = `\`portico generate client\` without \`--check\` writes it.`
  if (before === undefined) return `There is no file ${out}. ${advice}`
  const [oldLines, newLines] = [before.split('\n'), after.split('\n')]
  const differing = newLines.findIndex((line, index) => line !== oldLines[index])
  const index = differing === -1 ? newLines.length : differing
  // The description may come from another service.
  const quoted = (text: string | undefined) => (text === undefined ? '(nothing)' : printable(text))
  return `${out} is not current: line ${index + 1} is\n  ${quoted(oldLines[index])}\nand would be\n  ${quoted(newLines[index])}\n${advice}`
}

/** The texts to write, by file. */
async function filesOf(args: ParsedArgs, out: string): Promise<ReadonlyMap<string, string>> {
  const standalone = args.flag('standalone')
  const text = await typesOf(args, { standalone })
  if (!standalone) return new Map([[out, text]])
  const folder = join(dirname(out), standaloneFolder)
  const others = [...standaloneFiles()].map(([path, content]) => [join(folder, path), content] as const)
  return new Map([[out, text], ...others])
}

/** Writes the files that are not current; with `isCheck`, throws a `Failure` instead. */
function updateFiles(files: ReadonlyMap<string, string>, out: string, isCheck: boolean): string {
  const stale = [...files].filter(([file, text]) => readExisting(file) !== text)
  for (const [file, text] of stale) {
    if (isCheck) throw new Failure(difference(file, readExisting(file), text))
    write(file, text)
  }
  return stale.length === 0 ? `${out} is current.\n` : `${out} written.\n`
}

export const client: Command = {
  options: {
    from: { value: 'url', sentence: 'The address of a service, instead of the model file.' },
    header: {
      value: 'header',
      sentence: 'A header for that request, e.g. "Authorization: Bearer …".',
      multiple: true,
    },
    model,
    out: { value: 'file', sentence: 'The file to write. Default: standard output.' },
    standalone: {
      value: undefined,
      sentence: 'Also write the client into a folder next to --out, so that the package is not needed.',
    },
    check: { value: undefined, sentence: 'Write nothing, and fail unless --out is current.' },
  },
  async run(args) {
    const out = args.text('out')
    if (out !== undefined) return updateFiles(await filesOf(args, out), out, args.flag('check'))
    for (const flag of ['check', 'standalone'])
      if (args.flag(flag)) throw new Failure(`\`--${flag}\` needs \`--out\`.`, 2)
    return typesOf(args, {})
  },
}
