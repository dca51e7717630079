/** How a table of commands is read: which one was written, with which options, and its help. */
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

/** What a command's file exports. */
export interface Command {
  /** Names of the arguments that follow, all required; the last one may be `name…`: one or more. */
  readonly arguments?: readonly string[]
  readonly options: Readonly<Record<string, Option>>
  /** Returns what is printed at the end. */
  run(written: Written): Promise<string>
}

/** A row of the table. */
export interface Listed {
  readonly sentence: string
  /** Its file, which is loaded when the command is meant. */
  readonly load: () => Promise<{ readonly command: Command }>
}

/** By the words of the command, e.g. `keys create`. */
export type Commands = Readonly<Record<string, Listed>>

export interface Named extends Command {
  readonly name: string
  readonly sentence: string
}

/** The command that the words name, and the words that are left. */
export async function findCommand(
  commands: Commands,
  words: readonly string[],
): Promise<{ readonly command: Named; readonly rest: readonly string[] }> {
  for (const [name, { sentence, load }] of Object.entries(commands)) {
    const parts = name.split(' ')
    if (!parts.every((part, at) => words[at] === part)) continue
    return { command: { name, sentence, ...(await load()).command }, rest: words.slice(parts.length) }
  }
  const names = Object.keys(commands)
  const group = names.filter(name => name.startsWith(`${words[0]} `))
  throw new Failure(
    `There is no command \`${words.slice(0, 2).join(' ')}\`. There is ${(group.length > 0 ? group : names).join(', ')}.`,
    2,
  )
}

/** The options and arguments of a command. A `Failure` says what is wrong with them. */
export function readWritten(command: Named, rest: readonly string[]): Written {
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

function parsed(command: Named, rest: readonly string[]): { values: Values; positionals: string[] } {
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

function usageOf({ name, arguments: expected = [], options }: Named): string {
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
export function commandHelp(command: Named): string {
  const options = Object.entries(command.options).map(([name, { value, sentence }]) => {
    const form = value === undefined ? `--${name}` : `--${name} <${value}>`
    return `  ${form.padEnd(26)}${sentence}`
  })
  const list = options.length === 0 ? '' : `\nOptions:\n${options.join('\n')}\n`
  return `${command.sentence}\n\nUsage: ${usageOf(command)}\n${list}`
}

/** The help of everything. */
export function generalHelp(commands: Commands, version: string): string {
  const lines = Object.entries(commands).map(([name, { sentence }]) => `  ${name.padEnd(20)}${sentence}`)
  return `Portico ${version}: one declared model, a complete REST API.

Usage: portico <command> [options]

Commands:
${lines.join('\n')}

\`portico <command> --help\` shows a command's options. Settings come from the environment and from
portico.config.ts or portico.config.json in this folder; \`portico print config\` lists them all.
`
}
