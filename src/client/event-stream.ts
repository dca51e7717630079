/** Parses server-sent events (HTML Living Standard, 9.2.6). */

/** A block of the stream. Without data, it only changes the position, or shows that the connection is alive. */
export interface StreamBlock {
  readonly id: string | undefined
  readonly type: string
  readonly data: string
}

/** The maximum number of characters in a block. */
const maxBlockLength = 2 ** 26

const lineEnd = /\r\n?|\n/

/** Parses pieces of text as they arrive. */
export class StreamParser {
  /** The incomplete line at the end. */
  #rest = ''
  /** The length of the block's complete lines. */
  #length = 0
  #isAfterReturn = false
  #id: string | undefined
  #type = ''
  #data: string[] = []
  #isEmpty = true

  /** Returns the blocks that the text completes. Throws a `RangeError` if a block becomes too long. */
  push(text: string): readonly StreamBlock[] {
    // CR LF is one line end, even if the two arrive in different pieces.
    const unread = this.#isAfterReturn && text.startsWith('\n') ? text.slice(1) : text
    if (text !== '') this.#isAfterReturn = text.endsWith('\r')
    const [first = '', ...others] = unread.split(lineEnd)
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
