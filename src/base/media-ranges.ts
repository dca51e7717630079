/** The media ranges of an `Accept` header (RFC 9110, 12.5.1). */

export interface MediaRange {
  /** In lower case, without parameters. */
  readonly type: string
  /** From 0 to 1; 0 if it is malformed. */
  readonly quality: number
  /** In lower case, as the header has it. */
  readonly charset: string | undefined
}

/** RFC 9110, 12.4.2; also without the zero, as Java's `HttpURLConnection` sends it (JDK-8163921). */
const weightForm = /^(?:0?\.\d{1,3}|0\.?|1(?:\.0{0,3})?)$/

function mediaRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map(part => part.trim().toLowerCase())
  const parameterOf = (name: string) =>
    parameters.find(parameter => parameter.startsWith(`${name}=`))?.slice(name.length + 1)
  const weight = parameterOf('q') ?? '1'
  return { type, quality: weightForm.test(weight) ? Number(weight) : 0, charset: parameterOf('charset') }
}

export function mediaRanges(header: string): readonly MediaRange[] {
  return header.split(',').map(mediaRange)
}

/** Longer headers are not worth parsing. */
const maxHeaderCharacters = 1000

function namesType(header: string | undefined, pattern: RegExp): boolean {
  const ranges = mediaRanges((header ?? '').slice(0, maxHeaderCharacters))
  return ranges.some(({ type, quality }) => quality > 0 && pattern.test(type))
}

/** Whether the header names HTML, as browsers do when they open a page. `*\/*` alone comes from programs. */
export function acceptsPage(header: string | undefined): boolean {
  return namesType(header, /^(?:text\/html|application\/xhtml\+xml)$/)
}

/** Whether the header names JSON, or a format based on it. */
export function acceptsJson(header: string | undefined): boolean {
  return namesType(header, /^application\/(?:[\w.-]+\+)?json$/)
}
