/** `portico explain-queries`: the lists that scanned many rows, and the index that would make each one fast. */

import { countAdvice } from '../../../engine/store/advice/counts.ts'
import type { Model } from '../../../model/model.ts'
import { type StoredList, storedLists } from '../../../server/serve/monitoring/slow-lists.ts'
import { databaseOptions, withDatabase } from '../database.ts'
import type { Command } from './commands.ts'

export const command: Command = {
  options: {
    ...databaseOptions,
    json: { value: undefined, sentence: 'Print JSON: an array with an object for each list.' },
  },
  run: args =>
    withDatabase(args, async ({ stored, model }) => {
      const lists = await storedLists(stored)
      return args.flag('json')
        ? `${JSON.stringify(lists, null, 2)}\n`
        : `${listsText(lists)}${countsText(model)}`
    }),
}

const none = `No slow list ran in the last 7 days: none scanned 1,000 rows or more to return far fewer.
A running service stores its findings once a minute, and when it stops.
`

function listsText(lists: readonly StoredList[]): string {
  if (lists.length === 0) return none
  return [['runs', 'rows scanned', 'rows returned', 'request'], ...lists.map(cellsOf)]
    .map((cells, line) => `${aligned(cells)}\n${adviceOf(lists[line - 1])}`)
    .join('')
}

/** Advice on the counts of limits and of computed fields. */
function countsText(model: Model): string {
  const advice = countAdvice(model)
  if (advice.length === 0) return ''
  const lines = advice.map(
    ({ place, collection, index }) => `  ${place}: in collection \`${collection}\`, add \`${index}\`.\n`,
  )
  return `\nCounted without an index, which matters where thousands of items are counted:\n${lines.join('')}`
}

function cellsOf({ runs, scannedRows, returnedRows, request }: StoredList): readonly string[] {
  return [String(runs), String(scannedRows), String(returnedRows), request]
}

function aligned([runs = '', scanned = '', returned = '', request = '']: readonly string[]): string {
  return `${runs.padStart(8)}  ${scanned.padStart(12)}  ${returned.padStart(13)}  ${request}`
}

function adviceOf(list: StoredList | undefined): string {
  if (list === undefined) return ''
  const using = list.indexes.length === 0 ? '' : `, with ${list.indexes.join(', ')}`
  return `${' '.repeat(10)}It ${list.summary}${using}. ${list.advice}\n`
}
