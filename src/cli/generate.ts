/** `portico generate client`: the types of a service's client, from its address or from the model file. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { clientTypesOfModel, clientTypesOfService } from '../generate.ts'
import type { Command, ParsedArgs } from './commands.ts'
import { Failure } from './failure.ts'
import { model, projectOf } from './options.ts'

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

async function typesOf(args: ParsedArgs): Promise<string> {
  const from = args.text('from')
  if (from === undefined) {
    const { model: checked, path } = await projectOf(args)
    return clientTypesOfModel(checked, path)
  }
  if (args.text('model') !== undefined) throw new Failure('Give `--from` or `--model`, not both.', 2)
  return clientTypesOfService(from, headersOf(args))
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
    writeFileSync(out, text)
  } catch (error) {
    throw new Failure(`${out} cannot be written: ${(error as Error).message}.`)
  }
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

export const client: Command = {
  options: {
    from: { value: 'url', sentence: 'The address of a service, in place of the model file.' },
    header: { value: 'header', sentence: 'Sent to it, e.g. "Authorization: Bearer …".', multiple: true },
    model,
    out: { value: 'file', sentence: 'The file to write; else standard output.' },
    check: { value: undefined, sentence: 'Write nothing; fail unless --out is current.' },
  },
  async run(args) {
    const out = args.text('out')
    if (args.flag('check') && out === undefined) throw new Failure('`--check` needs `--out`.', 2)
    const text = await typesOf(args)
    if (out === undefined) return text
    const before = stored(out)
    if (before === text) return `${out} is current.\n`
    if (args.flag('check')) throw new Failure(difference(out, before, text))
    write(out, text)
    return `${out} written.\n`
  },
}
