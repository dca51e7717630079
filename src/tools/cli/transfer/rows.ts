/** Turns the records of a file into the values of new items, which are checked as REST checks a body. */
import { isUtf8 } from 'node:buffer'
import { parseBodyText } from '../../../api/rest/body.ts'
import { ApiError } from '../../../base/errors.ts'
import { isUtf16, withoutMark } from '../../../base/text-file.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { compile } from '../../../model/json-schema/compile.ts'
import type { Collection, Field } from '../../../model/model.ts'
import { bodyValidator, unwritableFault } from '../../../model/validate.ts'
import { Failure } from '../failure.ts'
import { type Cell, CsvFault, parseCsvRow } from './csv.ts'
import type { FileFormat, RawRecord } from './records.ts'

type RowValues = Readonly<Record<string, JsonValue>>

export interface ImportRow {
  /** Fields that a client can set. */
  readonly values: RowValues
  /** Fields that otherwise only Portico sets, such as `id` and `created_at`. */
  readonly readOnly: RowValues
}

/** A row is invalid. `reasons`: a sentence for each fault. */
class RowFault extends Error {
  readonly reasons: readonly string[]

  constructor(reasons: readonly string[]) {
    super(reasons[0])
    this.reasons = reasons
  }
}

/** The reasons in an error that an invalid row causes; undefined for any other error. */
export function reasonsIn(error: unknown): readonly string[] | undefined {
  if (error instanceof RowFault) return error.reasons
  if (error instanceof CsvFault) return [error.message]
  if (!(error instanceof ApiError) || error.status >= 500) return undefined
  const details = error.details ?? []
  if (details.length === 0) return [error.message.replace(/^The body\b/, 'The row')]
  return details.map(({ field, message }) => (message.includes(field) ? message : `${field}: ${message}`))
}

/**
 * Parses the records of one file, in order. An invalid row throws an error that `reasonsIn` understands, an invalid header a
 * `Failure`.
 */
export class RowReader {
  readonly #collection: Collection
  readonly format: FileFormat
  readonly #keepsReadOnly: boolean
  #columns: readonly Field[] | undefined
  /** Read-only fields of the file that were ignored. */
  readonly ignored = new Set<string>()

  constructor(collection: Collection, format: FileFormat, keepsReadOnly: boolean) {
    this.#collection = collection
    this.format = format
    this.#keepsReadOnly = keepsReadOnly
  }

  /** Returns undefined for the header and for an empty line. */
  read({ bytes, line }: RawRecord): ImportRow | undefined {
    if (line === 1 && isUtf16(bytes)) throw new Failure('The input is in UTF-16: save it as UTF-8.')
    if (!isUtf8(bytes)) throw new RowFault(['The row is not valid UTF-8.'])
    const text = withoutLineEnd(bytes.toString('utf8'), line === 1)
    if (this.format === 'csv') return this.#csvRow(text)
    return text.trim() === '' ? undefined : this.#row(parseBodyText(text))
  }

  #csvRow(text: string): ImportRow | undefined {
    const columns = this.#columns
    if (columns === undefined) {
      this.#columns = this.#header(text)
      return undefined
    }
    if (text === '' && columns.length > 1) return undefined
    const cells = parseCsvRow(text)
    if (cells.length !== columns.length) {
      throw new RowFault([`The row has ${cells.length} cells; the header has ${columns.length}.`])
    }
    return this.#row(valuesOf(columns, cells))
  }

  #header(text: string): readonly Field[] {
    const names = headerNames(text)
    const fields = names.map(name => this.#column(name))
    const repeated = names.find((name, index) => names.indexOf(name) !== index)
    if (repeated !== undefined) throw new Failure(`The header names ${repeated} twice.`)
    return fields
  }

  #column(name: string): Field {
    const field = this.#collection.fields.get(name)
    if (field && !field.internal) return field
    const { message } = unwritableFault(name, this.#collection, 'create')
    const hint = /[;\t]/.test(name) ? ' Columns are separated by commas.' : ''
    throw new Failure(`The header: ${message}${hint}`)
  }

  #row(body: unknown): ImportRow {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new RowFault(['The row must be a JSON object with the fields of the item.'])
    }
    // Not by assignment: a member may have the name `__proto__`.
    const writable: [string, JsonValue][] = []
    const readOnly: [string, JsonValue][] = []
    for (const [name, value] of Object.entries(body)) {
      const field = this.#collection.fields.get(name)
      if (!field?.readOnly || field.internal) writable.push([name, value])
      else if (this.#keepsReadOnly) readOnly.push([name, readOnlyValue(field, value)])
      else this.ignored.add(name)
    }
    const { values } = bodyValidator(this.#collection).create(Object.fromEntries(writable))
    return { values, readOnly: Object.fromEntries(readOnly) }
  }
}

function headerNames(text: string): readonly string[] {
  try {
    return parseCsvRow(text).map(cell => cell.text)
  } catch (error) {
    if (error instanceof CsvFault) throw new Failure(`The header: ${error.message}`)
    throw error
  }
}

function withoutLineEnd(text: string, isFirst: boolean): string {
  const end = text.endsWith('\r\n') ? 2 : text.endsWith('\n') ? 1 : 0
  const row = text.slice(0, text.length - end)
  return isFirst ? withoutMark(row) : row
}

function valuesOf(columns: readonly Field[], cells: readonly Cell[]): RowValues {
  const values: Record<string, JsonValue> = {}
  columns.forEach((field, index) => {
    const cell = cells[index]
    if (cell === undefined) return
    if (cell.text !== '' || cell.isQuoted) values[field.name] = cellValue(field, cell.text)
    else if (field.optional) values[field.name] = null
  })
  return values
}

/** A text that the type cannot parse is returned unchanged, so that the validator reports its fault. */
function cellValue({ name, type }: Field, text: string): JsonValue {
  if (!type.isDocument) return type.fromText(text) ?? text
  try {
    return JSON.parse(text)
  } catch {
    throw new RowFault([`${name} must be JSON.`])
  }
}

const validators = new WeakMap<Field, (value: JsonValue) => boolean>()

function readOnlyValue(field: Field, value: JsonValue): JsonValue {
  if (value === null && field.optional) return null
  const isValid = validators.get(field) ?? compile(field.type.schema)
  validators.set(field, isValid as (value: JsonValue) => boolean)
  if (isValid(value)) return canonical(field, value)
  throw new RowFault([`${field.name} has a value that does not fit the field.`])
}

function canonical({ name, type }: Field, value: JsonValue): JsonValue {
  try {
    return type.canonical(value)
  } catch (error) {
    if (error instanceof RangeError) throw new RowFault([`${name}: ${error.message}`])
    throw error
  }
}
