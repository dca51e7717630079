/** Parses server-sent events (HTML Living Standard, 9.2.6). */

/** A block of the stream. Without data it only moves the position, or shows that the connection lives. */
export interface StreamBlock {
  readonly id: string | undefined
  readonly type: string
  readonly data: string
}

/** A block has at most so many characters. */
const maxBlockLength = 2 ** 26

const lineEnd = /\r\n?|\n/

/** Takes pieces of text as they arrive, and returns the blocks that they complete. */
export class StreamParser {
  /** The incomplete line at the end. */
  #rest = ''
  /** Of the lines of the block. */
  #length = 0
  #isAfterReturn = false
  #id: string | undefined
  #type = ''
  #data: string[] = []
  #isEmpty = true

  /** Throws a `RangeError` for a block without end. */
  push(text: string): readonly StreamBlock[] {
    // A line feed after a carriage return ends no second line.
    const given = this.#isAfterReturn && text.startsWith('\n') ? text.slice(1) : text
    if (text !== '') this.#isAfterReturn = text.endsWith('\r')
    const [first = '', ...others] = given.split(lineEnd)
    this.#rest += first
    const blocks = others.flatMap(next => {
      const block = this.#line(this.#rest)
      this.#rest = next
      return block ?? []
    })
    if (this.#length + this.#rest.length > maxBlockLength)
      throw new RangeError('a block of the event stream is too long')
    return blocks
  }

  #line(line: string): StreamBlock | undefined {
    if (line === '') return this.#end()
    this.#isEmpty = false
    this.#length += line.length
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
    this.#length = 0
    return block
  }
}
