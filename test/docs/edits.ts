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
    const inner = (line: string, at: number) => at > place.start && at < place.end && line.endsWith('{')
    const start = lines.findIndex((line, at) => inner(line, at) && line.trimStart().startsWith(`${name}: `))
    if (start < 0) throw new Error(`The file has no ${path} to change.`)
    const indent = indentOf(lines[start] ?? '')
    const end = lines.findIndex((line, at) => at > start && line.startsWith(`${indent}}`))
    place = { start, end, indent }
  }
  return place
}

function lineOf(lines: readonly string[], isIt: (line: string) => boolean, what: string): number {
  const at = lines.findIndex(isIt)
  if (at < 0) throw new Error(`The file has no ${what}.`)
  return at
}

/** The file with a snippet inserted `at the top`, `above the model`, `in tasks.fields`, `after actions` … */
export function edited(file: string, where: string, piece: string): string {
  const lines = file.split('\n')
  const added = (indent: string) =>
    piece
      .trimEnd()
      .split('\n')
      .map(line => (line === '' ? '' : indent + line))
  const put = (at: number, removed: number, indent: string) => {
    lines.splice(at, removed, ...added(indent))
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
