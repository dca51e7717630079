/** Every command in one table: how it is written, what it does, which options it takes. */
import { parseArgs } from 'node:util'
import { Failure } from './failure.ts'

export interface Option {
  /** What stands for the value in the help; undefined for a flag. */
  readonly value: string | undefined
  readonly sentence: string
  readonly multiple?: true
  readonly required?: true
}

/** What was written after a command. */
export interface Written {
  /** By option name. */
  text(name: string): string | undefined
  /** For a required option. */
  needed(name: string): string
  list(name: string): readonly string[]
  flag(name: string): boolean
  readonly arguments: readonly string[]
}

export interface Command {
  /** Words, e.g. `keys create`. */
  readonly name: string
  /** Names of the arguments that follow, all required; the last one may be `name…`: one or more. */
  readonly arguments?: readonly string[]
  readonly sentence: string
  readonly options: Readonly<Record<string, Option>>
  /** Returns what is printed at the end. */
  run(written: Written): Promise<string>
}

/** The command that the words name, and the words that are left. */
export function findCommand(
  commands: readonly Command[],
  words: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } {
  for (const command of commands) {
    const parts = command.name.split(' ')
    if (parts.every((part, at) => words[at] === part)) return { command, rest: words.slice(parts.length) }
  }
  const group = commands.filter(command => command.name.startsWith(`${words[0]} `))
  const known = group.length > 0 ? group : commands
  throw new Failure(
    `There is no command \`${words.slice(0, 2).join(' ')}\`. There is ${known.map(command => command.name).join(', ')}.`,
    2,
  )
}

/** The options and arguments of a command. A `Failure` says what is wrong with them. */
export function readWritten(command: Command, rest: readonly string[]): Written {
  const { values, positionals } = parsed(command, rest)
  const expected = command.arguments ?? []
  const more = expected.at(-1)?.endsWith('…') && positionals.length > expected.length
  if (positionals.length !== expected.length && !more) {
    throw new Failure(`Write it as \`${usageOf(command)}\`.`, 2)
  }
  const missing = Object.keys(command.options).filter(
    name => command.options[name]?.required && values[name] === undefined,
  )
  if (missing.length > 0) {
    throw new Failure(`\`${command.name}\` needs ${missing.map(name => `--${name}`).join(' and ')}.`, 2)
  }
  const text = (name: string) => (typeof values[name] === 'string' ? values[name] : undefined)
  return {
    text,
    needed: name => text(name) ?? '',
    list: name => (Array.isArray(values[name]) ? values[name].map(String) : []),
    flag: name => values[name] === true,
    arguments: positionals,
  }
}

type Values = Readonly<Record<string, unknown>>

function parsed(command: Command, rest: readonly string[]): { values: Values; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { value, multiple }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), multiple: multiple === true },
    ]),
  )
  try {
    return parseArgs({ args: [...rest], options, allowPositionals: true })
  } catch (error) {
    const [said] = String(error instanceof Error ? error.message : error).split('. ')
    throw new Failure(`${said?.replace(/\.$/, '')}.\nWrite it as \`${usageOf(command)}\`.`, 2)
  }
}

function usageOf({ name, arguments: expected = [], options }: Command): string {
  const required = Object.entries(options).filter(([, option]) => option.required)
  const words = [
    'portico',
    name,
    ...expected.map(argument => `<${argument}>`),
    ...required.map(([option, { value }]) => `--${option} <${value}>`),
  ]
  return Object.keys(options).length > required.length ? `${words.join(' ')} [options]` : words.join(' ')
}

/** The help of one command. */
export function commandHelp(command: Command): string {
  const options = Object.entries(command.options).map(([name, { value, sentence }]) => {
    const form = value === undefined ? `--${name}` : `--${name} <${value}>`
    return `  ${form.padEnd(26)}${sentence}`
  })
  const list = options.length === 0 ? '' : `\nOptions:\n${options.join('\n')}\n`
  return `${command.sentence}\n\nUsage: ${usageOf(command)}\n${list}`
}

/** The help of everything. */
export function generalHelp(commands: readonly Command[], version: string): string {
  const lines = commands.map(({ name, sentence }) => `  ${name.padEnd(20)}${sentence}`)
  return `Portico ${version}: one declared model, a complete REST API.

Usage: portico <command> [options]

Commands:
${lines.join('\n')}

\`portico <command> --help\` shows a command's options. Settings come from the environment and from
portico.config.ts or portico.config.json in this folder; \`portico print config\` lists them all.
`
}
