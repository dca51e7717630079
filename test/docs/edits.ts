/** The snippets by which the tutorial changes a file. Their first line names their place. */

interface LineRange {
  readonly start: number
  readonly end: number
  readonly indent: string
}

const indentOf = (line: string) => /^ */.exec(line)?.[0] ?? ''

/** The lines of the object at a path such as `tasks.fields`, from the opening line to the closing one. */
function rangeOf(lines: readonly string[], path: string): LineRange {
  let range: LineRange = { start: -1, end: lines.length, indent: '' }
  for (const name of path.split('.')) {
    const inner = (line: string, index: number) =>
      index > range.start && index < range.end && line.endsWith('{')
    const start = lines.findIndex(
      (line, index) => inner(line, index) && line.trimStart().startsWith(`${name}: `),
    )
    if (start < 0) throw new Error(`The file has no ${path} to change.`)
    const indent = indentOf(lines[start] ?? '')
    const end = lines.findIndex((line, index) => index > start && line.startsWith(`${indent}}`))
    range = { start, end, indent }
  }
  return range
}

function lineOf(lines: readonly string[], matches: (line: string) => boolean, name: string): number {
  const index = lines.findIndex(matches)
  if (index < 0) throw new Error(`The file has no ${name}.`)
  return index
}

/** The file with a snippet inserted `at the top`, `above the model`, `in tasks.fields`, `after actions` … */
export function applySnippet(file: string, where: string, snippet: string): string {
  const lines = file.split('\n')
  const addLines = (indent: string) =>
    snippet
      .trimEnd()
      .split('\n')
      .map(line => (line === '' ? '' : indent + line))
  const splice = (index: number, removed: number, indent: string) => {
    lines.splice(index, removed, ...addLines(indent))
    return lines.join('\n')
  }
  if (where === 'at the top') return splice(0, 0, '')
  const model = lineOf(lines, line => line.startsWith('export default model('), 'model')
  if (where === 'above the model') return splice(model, 0, '')
  if (where === 'in the collections')
    return splice(
      lineOf(lines, line => line === '  },', 'logic'),
      0,
      '    ',
    )
  const [, position, path = ''] = /^(in place of|in|after) ([\w.]+)$/.exec(where) ?? []
  const { start, end, indent } = rangeOf(lines, path)
  if (position === 'in place of') return splice(start, end - start + 1, indent)
  return position === 'in' ? splice(end, 0, `${indent}  `) : splice(end + 1, 0, indent)
}
