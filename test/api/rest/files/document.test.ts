/** The OpenAPI document of a model with files. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openapi } from '../../../../src/api/rest/openapi/document.ts'
import {
  action,
  anyone,
  boolean,
  type CreateInput,
  collection,
  file,
  type Item,
  model,
  type StoredFile,
  string,
  type UpdateInput,
} from '../../../../src/index.ts'
import { checkModel, ModelError } from '../../../../src/model/check/check.ts'
import { declared } from './fixture.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document.
const document: any = openapi(checkModel(declared), undefined)

test('it has the paths of files, and forms', () => {
  const { paths } = document
  assert.deepEqual(Object.keys(paths['/api/v1/photos/{id}/image']), ['parameters', 'put', 'delete'])
  assert.deepEqual(Object.keys(paths['/api/v1/papers/{id}/content']), ['parameters', 'put'])
  assert.deepEqual(Object.keys(paths['/api/v1/photos/{id}/image/{key}/{name}']), ['parameters', 'get'])
  assert.deepEqual(Object.keys(paths['/api/v1/uploads']), ['post'])
  assert.equal(paths['/api/v1/uploads/{id}'], undefined)
  const contentOf = (method: string, path: string) => Object.keys(paths[path][method].requestBody.content)
  assert.deepEqual(contentOf('post', '/api/v1/photos'), ['application/json', 'multipart/form-data'])
  assert.deepEqual(contentOf('patch', '/api/v1/photos/{id}'), ['application/json', 'multipart/form-data'])
  assert.deepEqual(contentOf('put', '/api/v1/photos/{id}'), ['application/json'])
  assert.deepEqual(contentOf('post', '/api/v1/albums'), ['application/json'])
  const { image, title } =
    paths['/api/v1/photos'].post.requestBody.content['multipart/form-data'].schema.properties
  assert.deepEqual([image.format, title.type], ['binary', 'string'])
})

test('a file is read in another form than it is written in', () => {
  const { Photo, PhotoCreate } = document.components.schemas
  assert.deepEqual(Object.keys(Photo.properties.image.properties), ['url', 'name', 'type', 'size', 'sha256'])
  assert.deepEqual(Object.keys(PhotoCreate.properties.image.anyOf[0].properties), ['upload'])
})

test('items, inputs and changes are typed', () => {
  const input: CreateInput<typeof declared, 'papers'> = { content: { upload: 'a' } }
  const change: UpdateInput<typeof declared, 'photos'> = { image: null, logo: { upload: 'b' } }
  // @ts-expect-error: a text is no file.
  const wrong: CreateInput<typeof declared, 'papers'> = { content: 'a' }
  // @ts-expect-error: it is required.
  const missing: CreateInput<typeof declared, 'papers'> = {}
  const read = (item: Item<typeof declared, 'photos'>): StoredFile | null => item.image
  const kept = (item: Item<typeof declared, 'papers'>): CreateInput<typeof declared, 'papers'> => ({
    content: item.content,
  })
  assert.ok([input, change, wrong, missing, read, kept].every(Boolean))
})

test('a file in a write has no address', () => {
  const things = collection({
    fields: { cover: file({ optional: true }) },
    access: { read: anyone },
    prepare: ({ next }) => {
      // @ts-expect-error: the address is made when the item is read.
      assert.equal(next.cover?.url, undefined)
      return { cover: next.cover }
    },
  })
  assert.ok(checkModel(model({ things })))
})

test('the document names the headers of downloads, and who may upload', () => {
  const { parameters } = document.paths['/api/v1/photos/{id}/image/{key}/{name}'].get
  const names = parameters.flatMap(({ name }: { name?: string }) => name ?? [])
  assert.deepEqual(names, ['download', 'If-Match', 'Range', 'If-Range'])
  assert.match(document.paths['/api/v1/uploads'].post.description, /may create or change an item with files/)
})

test('the scopes and the collections of clients do not have uploads', () => {
  const { scopes } = checkModel(declared)
  assert.deepEqual(
    [...scopes.keys()].filter(scope => scope.includes('upload')),
    [],
  )
})

test('faulty declarations are refused, with what to write', () => {
  const faultsOf = (options: object, actions: object = {}) => {
    try {
      checkModel(
        model(
          {
            things: collection({
              fields: { name: string(), cover: file(options) },
              access: { read: anyone },
            }),
          },
          { actions } as never,
        ),
      )
      return []
    } catch (error) {
      assert.ok(error instanceof ModelError)
      return error.faults.map(({ place, message }) => `${place}: ${message}`)
    }
  }
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ max: '10' }, /^things\.fields\.cover\.max: Write a size/],
    [{ max: 0 }, /^things\.fields\.cover\.max: /],
    [{ max: '6 TB' }, /^things\.fields\.cover\.max: /],
    [{ types: [] }, /^things\.fields\.cover\.types: Write media types/],
    [{ types: ['png'] }, /^things\.fields\.cover\.types: /],
    [{ types: 'image/*' }, /^things\.fields\.cover\.types: /],
    [{ public: true }, /^things\.fields\.cover\.public: A public file needs `types`/],
    [{ public: 1 }, /^things\.fields\.cover\.public: Write true or false/],
    [{ unique: true }, /^things\.fields\.cover\.unique: /],
    [{ internal: true }, /^things\.fields\.cover\.internal: /],
    [{ default: 'a' }, /^things\.fields\.cover\.default: There is no option/],
  ]
  for (const [options, fault] of cases) assert.match(faultsOf(options)[0] ?? '', fault)
  for (const max of ['10 MB', '1.5 GB', '500 kB', '4 MiB', 1000]) assert.deepEqual(faultsOf({ max }), [])
  const cover = action({
    on: 'things',
    input: { yes: boolean() },
    access: anyone,
    run: async () => undefined,
  } as never)
  assert.match(
    faultsOf({}, { cover }).join('\n'),
    /^actions\.cover: .*is the path of the file `things\.cover`/m,
  )
})

test('a model of its own may not have the collection of uploads', () => {
  const uploads = collection({ fields: { cover: file() }, access: { read: anyone } })
  assert.throws(() => checkModel(model({ uploads })), /reserved/)
})
