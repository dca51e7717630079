/** Parses server-sent events (HTML Living Standard, 9.2.6). */

/** A block of the stream. Without data it only moves the position, or shows that the connection lives. */
export interface StreamBlock {
  readonly id: string | undefined
  readonly type: string
  readonly data: string
}

/** A block has at most so many characters. */
const maxBlockLength = 2 ** 26

const lineEnd = /\r\n|\n|\r(?!$)/

/** Takes pieces of text as they come; gives the blocks that they complete. */
export class StreamParser {
  #rest = ''
  #id: string | undefined
  #type = ''
  #data: string[] = []
  #isEmpty = true

  /** Throws a `RangeError` for a block without end. */
  push(text: string): readonly StreamBlock[] {
    const lines = (this.#rest + text).split(lineEnd)
    this.#rest = lines.pop() ?? ''
    if (this.#rest.length > maxBlockLength) throw new RangeError('a line of the event stream is too long')
    return lines.flatMap(line => this.#line(line) ?? [])
  }

  #line(line: string): StreamBlock | undefined {
    if (line === '') return this.#end()
    this.#isEmpty = false
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'id') this.#id = value
    if (name === 'event') this.#type = value
    if (name === 'data') this.#data.push(value)
    return undefined
  }

  #end(): StreamBlock | undefined {
    if (this.#isEmpty) return undefined
    const block = { id: this.#id, type: this.#type, data: this.#data.join('\n') }
    this.#id = undefined
    this.#type = ''
    this.#data = []
    this.#isEmpty = true
    return block
  }
}
