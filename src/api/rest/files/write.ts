/** PUT and DELETE of the file of a field, and POST of an upload. */
import type { Call, Reply } from '../../../base/call.ts'
import { readIfMatch } from '../../../base/conditional.ts'
import { ApiError } from '../../../base/errors.ts'
import { type AccessClass, isAnonymous, type Principal } from '../../../base/principal.ts'
import { keyHeader } from '../../../engine/idempotency/idempotency.ts'
import { admit, staticRule } from '../../../engine/plan/guard/guard.ts'
import type { Plan, UpdateShape } from '../../../engine/plan/plan.ts'
import { selected } from '../../../engine/plan/system-plans.ts'
import type { FileValue } from '../../../model/fields/file.ts'
import type { Collection, Field, Model } from '../../../model/model.ts'
import { parseQuery, unknownParameter } from '../query/query-string.ts'
import type { RestServices, Write } from '../services.ts'
import { answerChange } from '../write.ts'
import { fileName } from './names.ts'
import { bytesOf, identityOf, receivedCall, whileReceiving, withUploads } from './receive.ts'
import { type FileRoute, takesForms } from './routes.ts'

const merge = 'application/merge-patch+json'

export const writeFile: Write<FileRoute> = async (services, route, call, principal) => {
  const { collection, id, field } = route
  const { files } = services
  const view = services.viewOf(collection.name, principal)
  const change = (received: Call, body: unknown) =>
    services.idempotency.answer(received, principal, attempt =>
      answerChange(
        services,
        view,
        id,
        { ...received, method: 'PATCH', query: '', parsed: { body } },
        principal,
        attempt,
      ),
    )
  if (call.method === 'DELETE') {
    parseName(call.query, [])
    const reply = await change(receivedCall(call, null, null, merge), { [field.name]: null })
    return { status: 204, headers: withoutContent(reply), body: null }
  }
  const name = parseName(call.query, ['name']) ?? field.name
  admit(services.model, collection, 'update', principal.access)
  await requireProbe(services, route, call, principal)
  // An explanation has no store: the rights alone decide.
  if (files === undefined) return { status: 204, headers: [], body: null }
  const bounds = field.type.file ?? { maxBytes: 0, types: undefined }
  requireContent(call, bounds.maxBytes)
  const upload = await whileReceiving(principal, () =>
    files.receive(bytesOf(call), fileName(name), bounds, principal),
  )
  const body = { [field.name]: { upload: upload.key } }
  return withUploads(files, [upload], () => change(receivedCall(call, body, identityOf(upload), merge), body))
}

export const writeUpload: Write<{ readonly kind: 'upload' }> = async (services, _route, call, principal) => {
  const { files } = services
  admitUpload(services.model, undefined, principal)
  const name = fileName(parseName(call.query, ['name']) ?? '')
  if (call.headers[keyHeader] !== undefined)
    throw new ApiError(
      'BAD_REQUEST',
      'An upload takes no Idempotency-Key: send it again, and use one of both.',
    )
  // An explanation has no store: the rights alone decide.
  if (files === undefined) return { status: 201, headers: [], body: null }
  const bounds = { maxBytes: greatestBound(services.model, principal), types: undefined }
  requireContent(call, bounds.maxBytes)
  const upload = await whileReceiving(principal, () => files.receive(bytesOf(call), name, bounds, principal))
  const { key, type, size, sha256 } = upload
  const headers = ['Content-Type', 'application/json', 'Cache-Control', 'no-store']
  return { status: 201, headers, body: JSON.stringify({ upload: key, name, type, size, sha256 }) }
}

/** An upload belongs to somebody, who may use it: throws for a caller who may write no item that has files. */
export function admitUpload(model: Model, _route: unknown, { access }: Principal): void {
  if (isAnonymous(access)) throw new ApiError('UNAUTHORIZED')
  let refusal: unknown = new ApiError('FORBIDDEN')
  for (const collection of model.collections.values()) {
    if (!takesForms(collection)) continue
    refusal = refusalOf(model, collection, access)
    if (refusal === undefined) return
  }
  throw refusal
}

/** Why the caller may neither create nor change items of the collection. Undefined: it may. */
function refusalOf(model: Model, collection: Collection, access: AccessClass): unknown {
  let refusal: unknown
  for (const operation of ['create', 'update'] as const) {
    try {
      admit(model, collection, operation, access)
      return undefined
    } catch (error) {
      refusal = error
    }
  }
  return refusal
}

/** Whether the caller may set the field of some item. */
function maySet(model: Model, collection: Collection, field: Field, access: AccessClass): boolean {
  return staticRule(model, collection, field.access.write, access) !== 'never'
}

/** Throws if the caller may set the field of no item. */
export function admitField(model: Model, collection: Collection, field: Field, { access }: Principal): void {
  if (maySet(model, collection, field, access)) return
  throw new ApiError(isAnonymous(access) ? 'UNAUTHORIZED' : 'FORBIDDEN')
}

/** Of all fields that the caller may set. */
function greatestBound(model: Model, { access }: Principal): number {
  const fields = [...model.collections.values()]
    .filter(collection => takesForms(collection) && refusalOf(model, collection, access) === undefined)
    .flatMap(collection =>
      [...collection.fields.values()].filter(field => maySet(model, collection, field, access)),
    )
  return Math.max(0, ...fields.map(({ type }) => type.file?.maxBytes ?? 0))
}

/** Throws at once if the body is too large by its own account, or a form, whose bytes are not those of the file. */
function requireContent({ headers }: Call, maxBytes: number): void {
  if (headers['content-type']?.toLowerCase().startsWith('multipart/'))
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the bytes of the file as the body, not a form.')
  if (Number(headers['content-length'] ?? 0) > maxBytes)
    throw new ApiError('PAYLOAD_TOO_LARGE', `The file may have at most ${maxBytes} bytes.`)
}

/** The parameter `name`. Throws BAD_REQUEST for others. */
function parseName(query: string, known: readonly string[]): string | undefined {
  const parameters = query === '' ? [] : parseQuery(query)
  for (const { name } of parameters) if (!known.includes(name)) throw unknownParameter(name, known)
  return parameters[0]?.value
}

/**
 * Writes the probe. Its refusal is none if a reply is stored under the key of the call: the item may have changed since, by the
 * very write that the call repeats.
 */
export async function requireProbe(
  { run, idempotency }: Pick<RestServices, 'run' | 'idempotency'>,
  place: Parameters<typeof probe>[0],
  call: Call,
  principal: Principal,
): Promise<void> {
  try {
    await run.write(probe(place, call), principal)
  } catch (error) {
    if (!(await idempotency.hasReply(call, principal))) throw error
  }
}

const anyFile: FileValue = { file: '', name: '', type: '', size: 0, sha256: '' }

/**
 * An update that sets nothing, before the first byte: it checks `If-Match`, and whether the caller may change the item, and its
 * field if one is given.
 */
function probe(
  { collection, id, field }: Pick<FileRoute, 'collection' | 'id'> & Partial<Pick<FileRoute, 'field'>>,
  { headers }: Call,
): Plan<UpdateShape> {
  const ifMatch = readIfMatch(headers['if-match'])
  const shape: UpdateShape = {
    ...{ kind: 'update', mode: 'merge', collection: collection.name, id: 0 },
    set: field === undefined ? [] : [{ field: field.name, param: 2 }],
    withheld: field === undefined ? [] : [field.name],
    ifMatch: ifMatch === undefined ? undefined : 1,
    select: selected(['id']),
    lenient: true,
  }
  return { shape, args: [id, ifMatch ?? null, { ...anyFile }] }
}

function withoutContent({ headers }: Reply): readonly string[] {
  return headers.filter((_, index) => !['Content-Type', 'ETag'].includes(headers[index - (index % 2)] ?? ''))
}
