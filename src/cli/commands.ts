/** Finds the command that the arguments name, parses its options, and prints help. */
import { parseArgs } from 'node:util'
import { printable } from '../printable.ts'
import { Failure } from './failure.ts'

export interface Option {
  /** The value's placeholder in the help; undefined for a flag. */
  readonly value: string | undefined
  readonly sentence: string
  readonly multiple?: true
  readonly required?: true
}

/** The options and positional arguments given to a command. */
export interface ParsedArgs {
  /** By option name. */
  text(name: string): string | undefined
  /** Returns the value of a required option. */
  required(name: string): string
  list(name: string): readonly string[]
  flag(name: string): boolean
  readonly arguments: readonly string[]
}

export interface Command {
  /** The names of the positional arguments; the last one may be `name…` (one or more) or `name?` (optional). */
  readonly arguments?: readonly string[]
  readonly options: Readonly<Record<string, Option>>
  /** Returns the text to print. */
  run(args: ParsedArgs): Promise<string>
}

/** A row of the table. */
interface CommandEntry {
  readonly sentence: string
  /** Imports the command's file, so that only what this command needs is loaded. */
  readonly load: () => Promise<Command>
}

/** By name, e.g. `keys create`. */
export type Commands = Readonly<Record<string, CommandEntry>>

interface NamedCommand extends Command {
  readonly name: string
  readonly sentence: string
}

/** Returns the command that the words name, and the words after its name. */
export async function findCommand(
  commands: Commands,
  words: readonly string[],
): Promise<{ readonly command: NamedCommand; readonly rest: readonly string[] }> {
  for (const [name, { sentence, load }] of Object.entries(commands)) {
    const parts = name.split(' ')
    if (!parts.every((part, index) => words[index] === part)) continue
    return { command: { name, sentence, ...(await load()) }, rest: words.slice(parts.length) }
  }
  const names = Object.keys(commands)
  const group = names.filter(name => name.startsWith(`${words[0]} `))
  throw new Failure(
    `There is no command \`${words.slice(0, 2).join(' ')}\`. The commands are ${(group.length > 0 ? group : names).join(', ')}.`,
    2,
  )
}

/** Throws a `Failure` if the arguments are wrong. */
export function parseArguments(command: NamedCommand, rest: readonly string[]): ParsedArgs {
  const { values, positionals } = parse(command, rest)
  const expected = command.arguments ?? []
  const last = expected.at(-1) ?? ''
  const minimum = expected.length - (last.endsWith('?') ? 1 : 0)
  const usage = `Usage: ${usageOf(command)}`
  if (positionals.length < minimum) {
    const missingArguments = expected.slice(positionals.length, minimum).map(name => `<${name}>`)
    throw new Failure(`\`${command.name}\` needs ${missingArguments.join(' and ')}.\n${usage}`, 2)
  }
  if (positionals.length > expected.length && !last.endsWith('…')) {
    const unexpected = printable(positionals[expected.length] ?? '')
    throw new Failure(`Unexpected argument '${unexpected}'.\n${usage}`, 2)
  }
  const missingOptions = Object.keys(command.options).filter(
    name => command.options[name]?.required && values[name] === undefined,
  )
  if (missingOptions.length > 0) {
    throw new Failure(
      `\`${command.name}\` needs ${missingOptions.map(name => `--${name}`).join(' and ')}.`,
      2,
    )
  }
  const text = (name: string) => (typeof values[name] === 'string' ? values[name] : undefined)
  return {
    text,
    required: name => text(name) ?? '',
    list: name => (Array.isArray(values[name]) ? values[name].map(String) : []),
    flag: name => values[name] === true,
    arguments: positionals,
  }
}

function parse(
  command: NamedCommand,
  rest: readonly string[],
): { values: Readonly<Record<string, unknown>>; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { value, multiple }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), multiple: multiple === true },
    ]),
  )
  try {
    return parseArgs({ args: [...rest], options, allowPositionals: true })
  } catch (error) {
    const [sentence] = String(error instanceof Error ? error.message : error).split('. ')
    throw new Failure(`${sentence?.replace(/\.$/, '')}.\nUsage: ${usageOf(command)}`, 2)
  }
}

function usageOf({ name, arguments: expected = [], options }: NamedCommand): string {
  const required = Object.entries(options).filter(([, option]) => option.required)
  const words = [
    'portico',
    name,
    ...expected.map(argument => (argument.endsWith('?') ? `[${argument.slice(0, -1)}]` : `<${argument}>`)),
    ...required.map(([option, { value }]) => `--${option} <${value}>`),
  ]
  return Object.keys(options).length > required.length ? `${words.join(' ')} [options]` : words.join(' ')
}

/** The help of one command. */
export function commandHelp(command: NamedCommand): string {
  const options = Object.entries(command.options).map(([name, { value, sentence }]) => {
    const form = value === undefined ? `--${name}` : `--${name} <${value}>`
    return `  ${form.padEnd(26)}${sentence}`
  })
  const list = options.length === 0 ? '' : `\nOptions:\n${options.join('\n')}\n`
  return `${command.sentence}\n\nUsage: ${usageOf(command)}\n${list}`
}

/** The list of all commands. */
export function generalHelp(commands: Commands, version: string): string {
  const lines = Object.entries(commands).map(([name, { sentence }]) => `  ${name.padEnd(20)}${sentence}`)
  return `Portico ${version}: REST, GraphQL, events and an OAuth 2.0 server from one declared model.

Usage: portico <command> [options]

Commands:
${lines.join('\n')}

\`portico <command> --help\` shows a command's options. Settings come from the environment and from
portico.config.ts or portico.config.json in this folder; \`portico print config\` lists them all.
`
}
