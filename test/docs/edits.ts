/** The snippets by which the tutorial changes a file. Their first line names their place. */

interface Place {
  readonly start: number
  readonly end: number
  readonly indent: string
}

const indentOf = (line: string) => /^ */.exec(line)?.[0] ?? ''

/** The lines of the object at a path such as `tasks.fields`, from the opening line to the closing one. */
function placeOf(lines: readonly string[], path: string): Place {
  let place: Place = { start: -1, end: lines.length, indent: '' }
  for (const name of path.split('.')) {
    const inner = (line: string, index: number) =>
      index > place.start && index < place.end && line.endsWith('{')
    const start = lines.findIndex(
      (line, index) => inner(line, index) && line.trimStart().startsWith(`${name}: `),
    )
    if (start < 0) throw new Error(`The file has no ${path} to change.`)
    const indent = indentOf(lines[start] ?? '')
    const end = lines.findIndex((line, index) => index > start && line.startsWith(`${indent}}`))
    place = { start, end, indent }
  }
  return place
}

function lineOf(lines: readonly string[], isIt: (line: string) => boolean, name: string): number {
  const index = lines.findIndex(isIt)
  if (index < 0) throw new Error(`The file has no ${name}.`)
  return index
}

/** The file with a snippet inserted `at the top`, `above the model`, `in tasks.fields`, `after actions` … */
export function applySnippet(file: string, where: string, piece: string): string {
  const lines = file.split('\n')
  const addLines = (indent: string) =>
    piece
      .trimEnd()
      .split('\n')
      .map(line => (line === '' ? '' : indent + line))
  const put = (index: number, removed: number, indent: string) => {
    lines.splice(index, removed, ...addLines(indent))
    return lines.join('\n')
  }
  if (where === 'at the top') return put(0, 0, '')
  const model = lineOf(lines, line => line.startsWith('export default model('), 'model')
  if (where === 'above the model') return put(model, 0, '')
  if (where === 'in the collections')
    return put(
      lineOf(lines, line => line === '  },', 'logic'),
      0,
      '    ',
    )
  const [, how, path = ''] = /^(in place of|in|after) ([\w.]+)$/.exec(where) ?? []
  const { start, end, indent } = placeOf(lines, path)
  if (how === 'in place of') return put(start, end - start + 1, indent)
  return how === 'in' ? put(end, 0, `${indent}  `) : put(end + 1, 0, indent)
}
