/** The fenced code blocks of a Markdown page. */
export interface Block {
  readonly language: string
  readonly text: string
}

export function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
    language,
    text,
  }))
}

/** The valid anchors of a page: its headings as GitHub names them, and ids. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set([...headings, ...[...page.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)])
}

/** Each command with the JSON response that the page shows, or the text of a CSV, if any. */
export function examplesOf(page: string): readonly { command: string; answer: string | undefined }[] {
  const blocks = blocksOf(page)
  return blocks.flatMap((block, index) => {
    if (block.language !== 'sh') return []
    const next = blocks[index + 1]
    const language = block.text.includes('text/csv') ? 'text' : 'json'
    return [{ command: block.text.trim(), answer: next?.language === language ? next.text : undefined }]
  })
}

/** The documented response, with every `…` replaced by the actual text in its place. */
export function fillIn(stated: unknown, real: unknown): unknown {
  if (stated === '…') return typeof real === 'string' ? real : stated
  if (Array.isArray(stated))
    return stated.map((value, index) => fillIn(value, Array.isArray(real) ? real[index] : undefined))
  if (typeof stated !== 'object' || stated === null) return stated
  const other = typeof real === 'object' && real !== null ? (real as Record<string, unknown>) : {}
  return Object.fromEntries(Object.entries(stated).map(([key, value]) => [key, fillIn(value, other[key])]))
}
