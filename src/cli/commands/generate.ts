/** `portico generate client`: the types of a service's client, from its address or from the model file. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  clientTypesOfModel,
  clientTypesOfService,
  type GenerateOptions,
  standaloneFiles,
  standaloneFolder,
} from '../../generate.ts'
import type { Command, ParsedArgs } from '../commands.ts'
import { Failure } from '../failure.ts'
import { model, type Project, projectOf } from '../options.ts'

/** `Authorization: Bearer x`, as curl takes it. */
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
  if (args.text('model') !== undefined) throw new Failure('Give `--from` or `--model`, not both.', 2)
  return clientTypesOfService(from, headersOf(args), options)
}

/** The file, without carriage returns that a checkout may have put in. */
function stored(out: string): string | undefined {
  if (!existsSync(out)) return undefined
  try {
    return readFileSync(out, 'utf8').replaceAll('\r\n', '\n')
  } catch (error) {
    throw new Failure(`${out} cannot be read: ${(error as Error).message}.`)
  }
}

function write(out: string, text: string): void {
  try {
    mkdirSync(dirname(out), { recursive: true })
    writeFileSync(out, text)
  } catch (error) {
    throw new Failure(`${out} cannot be written: ${(error as Error).message}.`)
  }
}

/** Writes the types of the model where the file has others. Returns whether it did. */
export function renewClient(out: string, { model: checked, path }: Pick<Project, 'model' | 'path'>): boolean {
  const text = clientTypesOfModel(checked, path)
  if (stored(out) === text) return false
  write(out, text)
  return true
}

/** What is wrong when the file is not what would be written. */
function difference(out: string, before: string | undefined, after: string): string {
  const again = `\`portico generate client\` without \`--check\` writes it.`
  if (before === undefined) return `${out}: there is no such file. ${again}`
  const [old, made] = [before.split('\n'), after.split('\n')]
  const at = made.findIndex((line, index) => line !== old[index])
  const line = at === -1 ? made.length : at
  const shown = (text: string | undefined) => (text === undefined ? '(nothing)' : text)
  return `${out} is not current: line ${line + 1} is\n  ${shown(old[line])}\nand would be\n  ${shown(made[line])}\n${again}`
}

/** Texts by file. */
async function filesOf(args: ParsedArgs, out: string): Promise<ReadonlyMap<string, string>> {
  const standalone = args.flag('standalone')
  const text = await typesOf(args, { standalone })
  if (!standalone) return new Map([[out, text]])
  const folder = join(dirname(out), standaloneFolder)
  const others = [...standaloneFiles()].map(([path, content]) => [join(folder, path), content] as const)
  return new Map([[out, text], ...others])
}

/** Writes what is not current; with `isCheck`, fails instead. */
function renew(files: ReadonlyMap<string, string>, out: string, isCheck: boolean): string {
  const stale = [...files].filter(([file, text]) => stored(file) !== text)
  for (const [file, text] of stale) {
    if (isCheck) throw new Failure(difference(file, stored(file), text))
    write(file, text)
  }
  return stale.length === 0 ? `${out} is current.\n` : `${out} written.\n`
}

export const client: Command = {
  options: {
    from: { value: 'url', sentence: 'The address of a service, in place of the model file.' },
    header: { value: 'header', sentence: 'Sent to it, e.g. "Authorization: Bearer …".', multiple: true },
    model,
    out: { value: 'file', sentence: 'The file to write; else standard output.' },
    standalone: {
      value: undefined,
      sentence: 'Write the client too, into a folder beside --out, so that the package is not needed.',
    },
    check: { value: undefined, sentence: 'Write nothing; fail unless --out is current.' },
  },
  async run(args) {
    const out = args.text('out')
    if (out !== undefined) return renew(await filesOf(args, out), out, args.flag('check'))
    for (const flag of ['check', 'standalone'])
      if (args.flag(flag)) throw new Failure(`\`--${flag}\` needs \`--out\`.`, 2)
    return typesOf(args, {})
  },
}
