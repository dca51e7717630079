/** Names of actions and queries that conflict with other GraphQL fields or REST paths, and their SDL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sdlOf } from '../../../../src/api/graphql/schema/sdl.ts'
import {
  action,
  anyone,
  checkModel,
  collection,
  model,
  query,
  relation,
  text,
} from '../../../../src/index.ts'
import tracker from './tracker.ts'

const collections = {
  boxes: collection({ fields: { name: text() } }),
  things: collection({ fields: { box_id: relation('boxes', { inverse: 'things' }) } }),
}
const nothing = { access: anyone, run: () => undefined }

const takenNames: Readonly<Record<string, object>> = {
  'a list field': { queries: { boxes: query(nothing) } },
  'an item field': { queries: { box: query(nothing) } },
  'a connection field': { queries: { boxes_connection: query(nothing) } },
  'an aggregate field': { queries: { things_aggregate: query(nothing) } },
  'another built-in field': { queries: { rate_limit: query(nothing) } },
  'the list of a built-in collection': { queries: { api_keys: query(nothing) } },
  'a built-in mutation': { actions: { create_box: action(nothing) } },
  'a built-in path of the API': { actions: { aggregate: action({ ...nothing, of: 'boxes' }) } },
  'the path of a relation': { actions: { things: action({ ...nothing, on: 'boxes' }) } },
}

for (const [name, logic] of Object.entries(takenNames)) {
  test(`a name is refused if it is that of ${name}`, () => {
    assert.throws(() => checkModel(model(collections, logic as never)), /Choose another name/)
  })
}

test('an action and a query can share a name, and have separate types', () => {
  const both = { output: { name: text() }, access: anyone, run: () => ({ name: 'x' }) }
  const checked = checkModel(
    model(collections, { actions: { report: action(both) }, queries: { report: query(both) } }),
  )
  const sdl = sdlOf(checked)
  assert.match(sdl, /\n {2}report: ReportResult\n/)
  assert.match(sdl, /\n {2}report: ReportPayload!\n/)
})

test('the SDL contains queries with their arguments', () => {
  const sdl = sdlOf(checkModel(tracker))
  assert.match(sdl, /\n {2}openTasks\(project: \w+!, least: Float\): OpenTasksResult\n/)
  assert.match(sdl, /\n {2}latest\(id: ID!, done: \w+!\): Task\n/)
})
