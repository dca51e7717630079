/** `multipart/form-data` (RFC 7578): the fields of an item and its files together. */
import { Busboy, type BusboyConfig, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import type { Call } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { Files, Upload } from '../../../engine/files/files.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Field } from '../../../model/model.ts'
import { validationError } from '../../../model/validate.ts'
import { BodyTexts } from '../body.ts'
import { fileName } from './names.ts'
import { bytesOf, identityOf, receivedCall, whileReceiving } from './receive.ts'

/** Of the texts of all parts together. */
const maxTextBytes = 1_048_576
/** Of everything that is neither a text nor a file: boundaries, and the headers of parts. */
const maxOtherBytes = 4 * 1_048_576
const maxFields = 500
const maxFiles = 50

export interface ReceivedForm {
  /** The call with the item as its parsed body. */
  readonly call: Call
  readonly uploads: readonly Upload[]
}

/** Rejects if the caller may not set the field. */
export type AdmitField = (field: Field) => Promise<void>

interface FormParts {
  readonly call: Call
  readonly collection: Collection
  readonly files: Files
  readonly principal: Principal
  /** Asked before a file is received. */
  readonly admitField: AdmitField
}

/** Receives a form. If it rejects, nothing of it is stored. */
export function receiveForm(parts: FormParts): Promise<ReceivedForm> {
  return whileReceiving(parts.principal, () => new Form(parts).receive())
}

class Form {
  readonly #call: Call
  readonly #collection: Collection
  readonly #files: Files
  readonly #principal: Principal
  readonly #admitField: AdmitField
  readonly #texts = new BodyTexts()
  readonly #values = new Map<string, JsonValue>()
  readonly #identity = new Map<string, unknown>()
  readonly #works: Promise<void>[] = []
  readonly #uploads: Upload[] = []
  readonly #streams = new Set<BusboyFileStream>()
  readonly #failed = Promise.withResolvers<never>()
  #hasFailed = false
  #textBytes = 0

  constructor({ call, collection, files, principal, admitField }: FormParts) {
    this.#admitField = admitField
    this.#call = call
    this.#collection = collection
    this.#files = files
    this.#principal = principal
    this.#failed.promise.catch(() => undefined)
  }

  async receive(): Promise<ReceivedForm> {
    const parser = this.#parser()
    try {
      await Promise.race([this.#feed(parser), this.#failed.promise])
      await Promise.race([Promise.all(this.#works), this.#failed.promise])
    } catch (error) {
      // Ends what still waits for bytes.
      for (const stream of this.#streams) stream.destroy(error as Error)
      await Promise.allSettled(this.#works)
      for (const upload of this.#uploads) await this.#files.drop(upload)
      throw error
    }
    const body = Object.fromEntries(this.#values)
    const identity = [...this.#identity].sort(([one], [other]) => (one < other ? -1 : 1))
    return { call: receivedCall(this.#call, body, identity, 'multipart/form-data'), uploads: this.#uploads }
  }

  #parser(): BusboyInstance {
    const tooMany = () => this.#fail(new ApiError('PAYLOAD_TOO_LARGE', 'The form has too many parts.'))
    let parser: BusboyInstance
    try {
      parser = new Busboy(options(this.#call))
    } catch (cause) {
      throw malformed(cause)
    }
    parser.on('error', cause => this.#fail(malformed(cause)))
    parser.on('partsLimit', tooMany).on('filesLimit', tooMany).on('fieldsLimit', tooMany)
    parser.on('field', (name, value, isNameCut, isValueCut) => {
      this.#attempt(() => this.#addText(name, value, isNameCut || isValueCut))
    })
    parser.on('file', (name, stream, sentName) => {
      this.#streams.add(stream)
      stream.on('error', () => {})
      if (!this.#attempt(() => this.#addFile(name, stream, sentName))) stream.resume()
    })
    return parser
  }

  async #feed(parser: BusboyInstance): Promise<void> {
    const finished = Promise.withResolvers<void>()
    parser.once('finish', finished.resolve)
    let left = maxBytesOf(this.#collection)
    for await (const chunk of bytesOf(this.#call)) {
      if (this.#hasFailed) return
      left -= chunk.length
      if (left < 0) throw new ApiError('PAYLOAD_TOO_LARGE', 'The form is too large.')
      if (parser.write(chunk)) continue
      const drained = Promise.withResolvers<void>()
      parser.once('drain', drained.resolve)
      await Promise.race([drained.promise, this.#failed.promise])
    }
    parser.end()
    await Promise.race([finished.promise, this.#failed.promise])
  }

  /** Nothing more is begun. The first failure is the answer. */
  #fail(error: unknown): void {
    this.#hasFailed = true
    this.#failed.reject(error)
  }

  /** Returns whether it succeeded. */
  #attempt(work: () => void): boolean {
    if (this.#hasFailed) return false
    try {
      work()
      return true
    } catch (error) {
      this.#fail(error)
      return false
    }
  }

  #add(name: string | undefined, value: JsonValue, identity: unknown): void {
    if (name === undefined || name === '') throw malformed(new Error('a part without a name'))
    if (this.#identity.has(name)) throw new ApiError('BAD_REQUEST', `The form has the part "${name}" twice.`)
    this.#values.set(name, value)
    this.#identity.set(name, identity)
  }

  #addText(name: string, text: string, isCut: boolean): void {
    this.#textBytes += Buffer.byteLength(text)
    if (isCut || this.#textBytes > maxTextBytes)
      throw new ApiError('PAYLOAD_TOO_LARGE', `The texts of a form may have at most ${maxTextBytes} bytes.`)
    this.#add(name, valueOfText(this.#collection.fields.get(name), text, this.#texts), text)
  }

  #addFile(name: string, stream: BusboyFileStream, sentName: string | undefined): void {
    const field = this.#collection.fields.get(name)
    // A browser sends such a part for an input without a file.
    if (sentName === '') return void stream.resume()
    const bounds = field?.type.file
    if (field === undefined || bounds === undefined) {
      const message = `${name} takes no file.`
      throw validationError([{ field: name, code: 'not_a_file', message }])
    }
    this.#add(name, null, null)
    const work = async () => {
      await this.#admitField(field)
      const upload = await this.#files.receive(stream, fileName(sentName ?? ''), bounds, this.#principal)
      this.#uploads.push(upload)
      this.#values.set(name, { upload: upload.key })
      this.#identity.set(name, identityOf(upload))
    }
    const done = work().finally(() => this.#streams.delete(stream))
    done.catch(error => this.#fail(error))
    this.#works.push(done)
  }
}

/** Of a whole form: also of what comes before the first part, or belongs to none. */
function maxBytesOf({ fields }: Collection): number {
  const files = [...fields.values()].map(({ type }) => type.file?.maxBytes ?? 0)
  return files.reduce((sum, bytes) => sum + bytes, maxTextBytes + maxOtherBytes)
}

function options({ headers }: Call): BusboyConfig {
  return {
    headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
    limits: {
      ...{ fields: maxFields, files: maxFiles, parts: maxFields + maxFiles },
      ...{ fieldNameSize: 100, fieldSize: maxTextBytes, headerPairs: 20, headerSize: 8192 },
    },
  }
}

function malformed(cause: unknown): ApiError {
  return new ApiError('BAD_REQUEST', 'The body is not a well-formed form (RFC 7578).', { cause })
}

/** A text as the JSON value of the field. One that does not fit stays a text, which validation refuses. */
function valueOfText(field: Field | undefined, text: string, texts: BodyTexts): JsonValue {
  if (field === undefined) return text
  const value = field.type.fromText(text)
  if (value !== undefined) return value
  if (text === '' && field.optional) return null
  return texts.parse(text) as JsonValue
}
