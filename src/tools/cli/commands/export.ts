/** `portico export`: the items of a collection as CSV or NDJSON, in the order of their ids. */
import { CollectionView, createViews, type ListScope } from '../../../api/rest/query/collection-view.ts'
import { parseList } from '../../../api/rest/query/list.ts'
import { listParameters } from '../../../api/rest/query/list-parameters.ts'
import { csvRow } from '../../../base/csv-row.ts'
import { type Principal, system } from '../../../base/principal.ts'
import type { ListShape } from '../../../engine/plan/plan.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Field } from '../../../model/model.ts'
import { counted } from '../counted.ts'
import { databaseOptions, type OpenedModel, withDatabase } from '../database.ts'
import { type ExportFile, writeExport } from '../export-file.ts'
import { Failure } from '../failure.ts'
import { Reporter } from '../progress.ts'
import { collectionOf, format, formatOf, principalOf } from '../transfer/options.ts'
import type { FileFormat } from '../transfer/records.ts'
import type { Command, ParsedArgs } from './commands.ts'

type Item = Readonly<Record<string, JsonValue>>

const pageSize = 1000

/** The fields that the principal may export: neither internal nor write-only ones. */
function scopeOf({ model }: OpenedModel, collection: Collection, principal: Principal): ListScope {
  const views = createViews(model, new Set())(principal.access)
  const view = views.get(collection.name)
  if (!view) throw new Failure(`The model has no collection ${collection.name}.`)
  if (principal !== system) return view.list
  const fields = new Map([...view.fields].filter(([, field]) => !field.internal && !field.writeOnly))
  return new CollectionView(views, { ...view, fields }, false).list
}

function filterQuery(filters: readonly string[]): string {
  return filters
    .map(text => {
      const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
      if (name === '' || listParameters.has(name)) {
        throw new Failure(
          `\`--filter ${text}\` is not a filter: write field=value or field[operator]=value.`,
          2,
        )
      }
      return `&${encodeURIComponent(name)}=${encodeURIComponent(value)}`
    })
    .join('')
}

function fieldsOf(scope: ListScope, names: string | undefined): readonly Field[] {
  const { fields, collection } = scope.target
  if (names === undefined) return [...fields.values()]
  return names.split(',').map(name => {
    const field = fields.get(name.trim())
    if (field) return field
    throw new Failure(`--fields: ${name} is not a field of ${collection.name} that can be exported.`, 2)
  })
}

/** Yields pages of items, by keyset. Each page shows its items as they are when it is read. */
async function* pages(
  run: Run,
  principal: Principal,
  scope: ListScope,
  query: string,
): AsyncGenerator<readonly Item[]> {
  for (let cursor = ''; ; ) {
    const { template, args } = parseList(scope, `cursor=${cursor}&${query}`)
    const { shape } = template
    const { text, next } = await run.list({ shape, args: args.with(limitOf(shape), pageSize) }, principal)
    yield JSON.parse(text ?? '[]')
    if (!next) return
    cursor = template.cursors.encode(next)
  }
}

function limitOf({ window }: ListShape): number {
  return window.limit
}

function textOf(value: JsonValue | undefined): string | undefined {
  if (value === null || value === undefined) return undefined
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** In CSV, a JSON field is always JSON text, even if its value is a string. */
function cellOf({ name, type }: Field, item: Item): string | undefined {
  const value = item[name]
  return type.isDocument && value !== null && value !== undefined ? JSON.stringify(value) : textOf(value)
}

function rendererOf(
  format: FileFormat,
  fields: readonly Field[],
): { readonly header: string; row(item: Item): string } {
  if (format === 'ndjson') return { header: '', row: item => `${JSON.stringify(item)}\n` }
  return {
    header: csvRow(fields.map(field => field.name)),
    row: item => csvRow(fields.map(field => cellOf(field, item))),
  }
}

async function exportTo(opened: OpenedModel, args: ParsedArgs): Promise<string> {
  const [name = '', file = '-'] = args.arguments
  const format = formatOf(args, file)
  const collection = collectionOf(opened.model, name)
  const principal = await principalOf(args, opened.run)
  const scope = scopeOf(opened, collection, principal)
  const fields = fieldsOf(scope, args.text('fields'))
  const query = `fields=${fields.map(field => field.name)}${filterQuery(args.list('filter'))}`
  return writeExport(file, args.flag('overwrite'), async output => {
    const rows = pages(opened.run, principal, scope, query)
    const count = await writeItems(rows, rendererOf(format, fields), output, name)
    return `Exported ${counted(count, 'row')} of ${name}.`
  })
}

async function writeItems(
  itemPages: AsyncIterable<readonly Item[]>,
  { header, row }: ReturnType<typeof rendererOf>,
  { stream, write }: ExportFile,
  name: string,
): Promise<number> {
  const reporter =
    process.stderr.isTTY && !(stream === process.stdout && process.stdout.isTTY)
      ? new Reporter(process.stderr)
      : undefined
  let count = 0
  await write(header)
  try {
    for await (const page of itemPages) {
      await write(page.map(row).join(''))
      count += page.length
      reporter?.report({ doing: 'export', table: name, done: count, of: 0 })
    }
  } finally {
    reporter?.end()
  }
  return count
}

export const command: Command = {
  arguments: ['collection', 'file?'],
  options: {
    format,
    fields: {
      value: 'name,name',
      sentence: 'Only these fields, in this order. Default: all readable fields.',
    },
    filter: {
      value: 'field=value',
      sentence: 'Only items that match, as in a REST list. Can be repeated.',
      multiple: true,
    },
    as: { value: 'email', sentence: 'Only what this user may read. By default, everything.' },
    overwrite: { value: undefined, sentence: 'Replace an existing file.' },
    ...databaseOptions,
  },
  run: args => withDatabase(args, opened => exportTo(opened, args)),
}
