/** `portico export`: the items of a collection as CSV or NDJSON, in the order of their ids. */
import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs'
import type { Writable } from 'node:stream'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Collection, Field } from '../../model/model.ts'
import type { ListShape } from '../../plan/plan.ts'
import type { Run } from '../../plan/run.ts'
import { type Principal, system } from '../../principal.ts'
import { CollectionView, createViews, type ListScope } from '../../rest/query/collection-view.ts'
import { parseList } from '../../rest/query/list.ts'
import type { Command, ParsedArgs } from '../commands.ts'
import { files, type OpenedModel, withDatabase } from '../database.ts'
import { Failure } from '../failure.ts'
import { Reporter } from '../progress.ts'
import { csvRow } from '../transfer/csv.ts'
import { collectionOf, counted, format, formatOf, principalOf } from '../transfer/options.ts'
import type { Format } from '../transfer/records.ts'

type Item = Readonly<Record<string, JsonValue>>

const pageSize = 1000

/** The collection as the principal may name it. Nobody names what is internal, or cannot be read. */
function scopeOf({ model }: OpenedModel, collection: Collection, principal: Principal): ListScope {
  const views = createViews(model, new Set())(principal.access)
  const view = views.get(collection.name)
  if (!view) throw new Failure(`The model has no collection ${collection.name}.`)
  if (principal !== system) return view.list
  const fields = new Map([...view.fields].filter(([, field]) => !field.internal && !field.writeOnly))
  return new CollectionView(views, { ...view, fields }, false).list
}

/** Parameters of a list that an export decides itself. */
const own = new Set(['page', 'per_page', 'cursor', 'sort', 'fields', 'include', 'total', 'q'])

function filterQuery(filters: readonly string[]): string {
  return filters
    .map(text => {
      const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
      if (name === '' || own.has(name)) {
        throw new Failure(`\`--filter ${text}\` is no filter: write field=value or field[operator]=value.`, 2)
      }
      return `&${encodeURIComponent(name)}=${encodeURIComponent(value)}`
    })
    .join('')
}

function fieldsOf(scope: ListScope, asked: string | undefined): readonly Field[] {
  const { fields, collection } = scope.target
  if (asked === undefined) return [...fields.values()]
  return asked.split(',').map(name => {
    const field = fields.get(name.trim())
    if (field) return field
    throw new Failure(
      `--fields names ${name}, which is no field of ${collection.name} that can be exported.`,
      2,
    )
  })
}

/** Pages of items, by keyset: each is as it is when its page is read. */
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

/** JSON fields are JSON texts in CSV, those that hold a text as well. */
function cellOf({ name, type }: Field, item: Item): string | undefined {
  const value = item[name]
  return type.isDocument && value !== null && value !== undefined ? JSON.stringify(value) : textOf(value)
}

function rendererOf(
  format: Format,
  fields: readonly Field[],
): { readonly head: string; row(item: Item): string } {
  if (format === 'ndjson') return { head: '', row: item => `${JSON.stringify(item)}\n` }
  return {
    head: csvRow(fields.map(field => field.name)),
    row: item => csvRow(fields.map(field => cellOf(field, item))),
  }
}

interface Output {
  readonly stream: Writable
  finish(): Promise<void>
  /** Leaves nothing behind. */
  discard(): void
}

function standardOutput(): Output {
  const { stdout: stream } = process
  // `write` tells of it.
  stream.on('error', () => {})
  return { stream, async finish() {}, discard() {} }
}

/** A file that is there as a whole or not at all. Only its owner reads it. */
function fileOutput(file: string, overwrite: boolean): Output {
  if (existsSync(file) && !overwrite) throw new Failure(`${file} is there already: --overwrite replaces it.`)
  const part = `${file}.part`
  const stream = createWriteStream(part, { mode: 0o600 })
  stream.on('error', () => {})
  return {
    stream,
    async finish() {
      await new Promise<void>(done => stream.end(done))
      renameSync(part, file)
    },
    discard() {
      stream.destroy()
      rmSync(part, { force: true })
    },
  }
}

/** Nobody reads any more, as with `head`. */
class Unread extends Error {}

/** Resolves when it is written, so that no more than a page waits. */
function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, error => {
      if (!error) resolve()
      else if ('code' in error && error.code === 'EPIPE') reject(new Unread())
      else reject(new Failure(`The export cannot be written: ${error.message}.`))
    })
  })
}

async function exportTo(opened: OpenedModel, args: ParsedArgs): Promise<string> {
  const [name = '', file = '-'] = args.arguments
  const format = formatOf(args, file)
  const collection = collectionOf(opened.model, name)
  const principal = await principalOf(args, opened.run)
  const scope = scopeOf(opened, collection, principal)
  const fields = fieldsOf(scope, args.text('fields'))
  const query = `fields=${fields.map(field => field.name)}${filterQuery(args.list('filter'))}`
  const output = file === '-' ? standardOutput() : fileOutput(file, args.flag('overwrite'))
  try {
    const count = await writeItems(
      pages(opened.run, principal, scope, query),
      rendererOf(format, fields),
      output,
      name,
    )
    await output.finish()
    console.error(`Exported ${counted(count, 'row')} of ${name}.`)
    return ''
  } catch (error) {
    output.discard()
    if (error instanceof Unread) return ''
    throw error
  }
}

async function writeItems(
  items: AsyncIterable<readonly Item[]>,
  { head, row }: ReturnType<typeof rendererOf>,
  { stream }: Output,
  name: string,
): Promise<number> {
  const reporter =
    process.stderr.isTTY && !(stream === process.stdout && process.stdout.isTTY)
      ? new Reporter(process.stderr)
      : undefined
  let count = 0
  await write(stream, head)
  try {
    for await (const page of items) {
      await write(stream, page.map(row).join(''))
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
    fields: { value: 'name,name', sentence: 'Only these fields, in this order; else all that can be read.' },
    filter: {
      value: 'field=value',
      sentence: 'Only items that fulfil it, as in a REST list; can be given again.',
      multiple: true,
    },
    as: { value: 'email', sentence: 'Only what this user may read; else everything.' },
    overwrite: { value: undefined, sentence: 'Replace a file that is there.' },
    ...files,
  },
  run: args => withDatabase(args, opened => exportTo(opened, args)),
}
