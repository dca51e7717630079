/** The terminal of `portico dev`: its output and its questions. */
import { createInterface } from 'node:readline/promises'
import type { servicePaths } from './addresses.ts'
import { clock, formatLine, RecentEvents } from './log-lines.ts'
import type { ServingAddresses } from './messages.ts'
import { type Style, terminalStyle } from './style.ts'

interface AddressHeading {
  /** In bold, e.g. `Portico dev`. */
  readonly program: string
  /** What follows. */
  readonly sentence: string
  readonly paths: typeof servicePaths
}

export class Terminal {
  readonly #style: Style
  readonly #events = new RecentEvents()

  constructor(style: Style = terminalStyle) {
    this.#style = style
  }

  /** Prints a line of a serving process. */
  line(line: string): void {
    if (!this.#events.isRepeated(line)) this.#print(formatLine(line, this.#style))
  }

  note(sentence: string): void {
    this.#print(`${this.#style('dim', clock(Date.now()))}  ${this.#style('bold', sentence)}`)
  }

  /** `text`: one or more lines. */
  fault(text: string, consequence: string): void {
    this.#print(
      `${this.#style('dim', clock(Date.now()))}  ${this.#style('red', 'fault')}  ${text.trimEnd()}\n`,
    )
    this.note(consequence)
  }

  text(text: string): void {
    this.#print(text.trimEnd())
  }

  /** Prints the addresses once the service is ready. */
  addresses(
    { url, openPath, welcome }: ServingAddresses,
    { program, sentence, paths }: AddressHeading,
  ): void {
    const rows = paths.map(([name, path]) => `  ${name.padEnd(9)}${this.#style('cyan', url + path)}`)
    const head = `${this.#style('bold', program)} ${sentence}`
    this.text(['', head, '', ...rows, ''].join('\n'))
    this.text(welcome ?? `\nTry it:\n\n  curl ${url}${openPath}\n`)
    this.text('')
  }

  /** Whether a question can be answered. */
  get canAsk(): boolean {
    return process.stdin.isTTY === true && process.stdout.isTTY === true
  }

  /** Returns undefined if `signal` withdraws the question. */
  async ask(question: string, signal: AbortSignal): Promise<boolean | undefined> {
    const reader = createInterface({ input: process.stdin, output: process.stdout })
    // In raw mode, Ctrl-C sends no signal, but it must still stop the command.
    reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
    try {
      return /^y(es)?$/i.test((await reader.question(`${question} [y/N] `, { signal })).trim())
    } catch {
      this.#print('')
      return undefined
    } finally {
      reader.close()
    }
  }

  #print(text: string): void {
    process.stdout.write(`${text}\n`)
  }
}
