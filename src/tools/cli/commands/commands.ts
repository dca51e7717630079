/** Finds the command that the arguments name, parses its options, and prints help. */
import { parseArgs } from 'node:util'
import { printable } from '../../../base/printable.ts'
import { didYouMean } from '../../../model/suggest.ts'
import { Failure } from '../failure.ts'

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
  throw unknownCommand(commands, words)
}

/** The names of a group of commands, e.g. `keys create` and `keys list` of `keys`; empty if there is no such group. */
function groupOf(commands: Commands, word: string | undefined): readonly string[] {
  return Object.keys(commands).filter(name => name.startsWith(`${word} `))
}

function unknownCommand(commands: Commands, words: readonly string[]): Failure {
  const [first = '', second = ''] = words
  const group = groupOf(commands, first)
  const isGroup = group.length > 0 && (second === '' || second.startsWith('-'))
  if (isGroup) return new Failure(`\`${first}\` needs a command: ${group.join(', ')}.`, 2)
  const names = Object.keys(commands)
  const given = second === '' || second.startsWith('-') ? first : `${first} ${second}`
  const groups = names.map(name => name.split(' ', 1)[0] ?? name)
  // Options and arguments may follow a misspelt command of one word.
  const suggestion = didYouMean(given, group.length > 0 ? group : names) || didYouMean(first, new Set(groups))
  const hint =
    group.length > 0 ? `The commands are ${group.join(', ')}.` : '`portico help` lists all commands.'
  return new Failure(`There is no command \`${printable(given)}\`.${suggestion} ${hint}`, 2)
}

const helpWords: ReadonlySet<string | undefined> = new Set(['--help', '-h'])

/** Whether the words ask for help instead of running a command. Words after `--` are arguments. */
function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return words.slice(0, end === -1 ? undefined : end).some(word => helpWords.has(word))
}

/** The help that the words ask for: of everything, a group or a command; undefined if they ask for none. */
export async function helpFor(
  commands: Commands,
  words: readonly string[],
  version: string,
): Promise<string | undefined> {
  const isHelp = words[0] === 'help'
  if (!isHelp && words.length > 0 && !asksForHelp(words)) return undefined
  const topic = words.slice(isHelp ? 1 : 0).filter(word => !helpWords.has(word))
  const [first] = topic
  if (first === undefined) return generalHelp(commands, version)
  const group = groupOf(commands, first)
  if (topic.length === 1 && group.length > 0 && !Object.hasOwn(commands, first))
    return groupHelp(commands, group)
  return commandHelp((await findCommand(commands, topic)).command)
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
function commandHelp(command: NamedCommand): string {
  const options = Object.entries(command.options).map(([name, { value, sentence }]) => {
    const form = value === undefined ? `--${name}` : `--${name} <${value}>`
    return `  ${form.padEnd(26)}${sentence}`
  })
  const list = options.length === 0 ? '' : `\nOptions:\n${options.join('\n')}\n`
  return `${command.sentence}\n\nUsage: ${usageOf(command)}\n${list}`
}

function commandLines(commands: Commands, names: readonly string[]): string {
  return names.map(name => `  ${name.padEnd(20)}${commands[name]?.sentence}`).join('\n')
}

function groupHelp(commands: Commands, names: readonly string[]): string {
  return `Commands:\n${commandLines(commands, names)}\n\n\`portico <command> --help\` shows a command's options.\n`
}

/** The list of all commands. */
function generalHelp(commands: Commands, version: string): string {
  return `Portico ${version}: REST, GraphQL, events and an OAuth 2.0 server from one declared model.

Usage: portico <command> [options]

Commands:
${commandLines(commands, Object.keys(commands))}

\`portico <command> --help\` shows a command's options. Settings come from the environment and from
portico.config.ts or portico.config.json in this folder; \`portico print config\` lists them all.
`
}
