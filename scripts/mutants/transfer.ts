/** Mutants of imports and exports. */
import { type Mutant, mutantsOf } from './mutant.ts'

const importOf = (test: string) => [`tools/cli/transfer/transfer#SQLite: ${test}`]
const stopped = importOf('an import stopped by a row')
const roundTrip = importOf('an export is imported elsewhere')

export const transfer: readonly Mutant[] = [
  ...mutantsOf(
    'base/csv-row',
    ['tools/cli/transfer/csv', 'api/rest/export'],
    [
      ['an empty text is exported as null', '|^\\s|\\s$|^$/', '|^\\s|\\s$/'],
      ['a text with a quote is exported without quotes', '/[",;\\t', '/[,;\\t'],
    ],
  ),
  ...mutantsOf(
    'tools/cli/transfer/csv',
    ['tools/cli/transfer/csv'],
    [
      ['a doubled quote stays doubled', `.replaceAll('""', QUOTE), isQuoted`, ', isQuoted'],
      [
        'a carriage return is part of a cell',
        "if (text.includes('\\r')) throw",
        "if (text.includes('\\0')) throw",
      ],
      ['a quote within a cell is text', 'if (text.includes(QUOTE)) {', "if (text.includes('\\0')) {"],
    ],
  ),
  ...mutantsOf(
    'tools/cli/transfer/records',
    ['tools/cli/transfer/csv'],
    [
      ['a line end in a quoted cell ends the row', 'byte === LF && this.#state !== QUOTED', 'byte === LF'],
      ['lines within cells do not count', 'this.#line += countLines(bytes)', 'this.#line += 1'],
      ['a row has no bound', 'if (this.#length <= this.#maxBytes) return', 'if (this.#length > 0) return'],
      ['a byte order mark begins a cell', '        if (isMark) continue\n', ''],
      ['a last line without an end is lost', 'this.#length === 0 ? [] : [this.#take()]', '[]'],
    ],
  ),
  ...mutantsOf('tools/cli/transfer/importer', stopped, [
    [
      'rows before a refused one mark the file as done',
      'await this.#store(before, planned.slice(0, index), false)',
      'await this.#store(before, planned.slice(0, index), true)',
    ],
    ['a conflict is skipped unasked', ' && this.#options.skipsConflicts) {', ') {'],
    [
      'a resumed import repeats the stored rows',
      'this.#doneBytes = position?.bytes ?? 0',
      'this.#doneBytes = 0',
    ],
    ['a resumed import counts from zero', '    if (position) this.#counts = position\n', ''],
  ]),
  ...mutantsOf('tools/cli/transfer/progress-record', stopped, [
    ['a file that grew was imported', 'total.bytes === bytes', 'total.bytes >= bytes'],
    ['another file of the same length was imported', 'hashes.get(bytes) === hash && ', ''],
    ['an import never resumes', 'new ProgressRecord(source, matching.at(-1))', 'new ProgressRecord(source)'],
  ]),
  ...mutantsOf('tools/cli/transfer/importer', importOf('a dry run reports every fault'), [
    ['a dry run stores the rows', 'isDryRun ? undefined : change', 'change'],
  ]),
  ...mutantsOf('tools/cli/transfer/rows', importOf('a dry run reports every fault'), [
    [
      'a short row is imported',
      'if (cells.length !== columns.length) {',
      'if (cells.length > columns.length) {',
    ],
  ]),
  ...mutantsOf('tools/cli/transfer/rows', importOf('faulty rows are skipped'), [
    [
      'a row that is no JSON is refused without a reason',
      'if (details.length === 0) return [error',
      'if (details.length < 0) return [error',
    ],
  ]),
  ...mutantsOf('tools/cli/transfer/rows', roundTrip, [
    ['an empty cell is an empty text', "if (cell.text !== '' || cell.isQuoted)", "if (cell.text !== '?')"],
  ]),
  ...mutantsOf('tools/cli/transfer/rows', importOf('ids are kept on request'), [
    [
      'ids are kept unasked',
      'else if (this.#keepsReadOnly) readOnly.push',
      'else if (field.readOnly) readOnly.push',
    ],
  ]),
]
