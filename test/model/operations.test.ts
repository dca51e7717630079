/** Actions and queries that are refused at the start, each with its place. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  action,
  anyone,
  checkModel,
  collection,
  item,
  model,
  owner,
  query,
  relation,
  signedIn,
  text,
} from '../../src/index.ts'
import { faultsIn } from './faults.ts'

const run = () => undefined
const collections = {
  projects: collection({ fields: { name: text(), owner_id: relation('users', { inverse: 'projects' }) } }),
  tasks: collection({ fields: { project_id: relation('projects', { inverse: 'tasks' }) } }),
}

type Logic = NonNullable<Parameters<typeof model>[1]>

/** The places of the faults. */
function placesOf(logic: object): readonly string[] {
  const faults = faultsIn(() => checkModel(model(collections, logic as Logic)))
  return faults.map(fault => fault.slice(0, fault.indexOf(': ')))
}

const refused: Readonly<Record<string, readonly [logic: object, place: string]>> = {
  'a name that is the path of a relation in REST': [
    { actions: { tasks: action({ on: 'projects', run }) } },
    'actions.tasks',
  ],
  'a name that is the path of a built-in action': [
    { actions: { rotate_secret: action({ on: 'webhooks', run }) } },
    'actions.rotate_secret',
  ],
  'a name that is a built-in path of the API': [
    { actions: { aggregate: action({ of: 'projects', run }) } },
    'actions.aggregate',
  ],
  'a name that is a function of the client': [
    { actions: { subscribe: action({ on: 'projects', run }) } },
    'actions.subscribe',
  ],
  'the name `then`, which would make the client a thenable': [
    { queries: Object.fromEntries([['then', query({ run })]]) },
    'queries.then',
  ],
  'a name that is a built-in mutation': [
    { actions: { create_task: action({ run }) } },
    'actions.create_task',
  ],
  'a name that is a built-in query': [{ queries: { projects: query({ run }) } }, 'queries.projects'],
  'a name in camelCase': [{ actions: { moveTask: action({ run }) } }, 'actions.moveTask'],
  'an unknown collection': [{ actions: { a: action({ on: 'project', run }) } }, 'actions.a.on'],
  'both `on` and `of`': [{ actions: { a: action({ on: 'tasks', of: 'tasks', run }) } }, 'actions.a'],
  'an action without a function': [{ actions: { a: { kind: 'action', options: {} } } }, 'actions.a.run'],
  'an unknown option': [{ actions: { a: action({ run, inputs: {} } as never) } }, 'actions.a'],
  'an input that is an item of an unknown collection': [
    { actions: { a: action({ input: { b: item('nothing') }, run }) } },
    'actions.a.input.b',
  ],
  'an input that is not a field': [
    { actions: { a: action({ input: { b: 1 }, run } as never) } },
    'actions.a.input.b',
  ],
  'an input that is a relation with an inverse': [
    { actions: { a: action({ input: { b: relation('users', { inverse: 'bs' }) }, run }) } },
    'actions.a.input.b',
  ],
  'a rule on an item for an action without one': [
    { actions: { a: action({ of: 'tasks', access: owner('id') as never, run }) } },
    'actions.a.access',
  ],
  'a scope in an invalid form': [
    { actions: { a: action({ scope: 'archive', access: anyone, run }) } },
    'actions.a.scope',
  ],
  'a built-in type of event': [
    { actions: { a: action({ emits: { 'task.created': {} }, run }) } },
    'actions.a.emits.task.created',
  ],
  'a type of event for an unknown collection': [
    { actions: { a: action({ emits: { 'job.done': {} }, run }) } },
    'actions.a.emits.job.done',
  ],
  'a type of event that two actions declare differently': [
    {
      actions: {
        a: action({ emits: { 'task.moved': {} }, run }),
        b: action({ emits: { 'task.moved': { access: signedIn } }, run }),
      },
    },
    'actions.b.emits.task.moved',
  ],
  'a type of event whose subscription another one has': [
    { actions: { a: action({ emits: { 'oauth_app.secret_updated': {} }, run }) } },
    'actions.a.emits.oauth_app.secret_updated',
  ],
}

for (const [name, [logic, place]] of Object.entries(refused)) {
  test(`refused: ${name}`, () => {
    const places = placesOf(logic)
    assert.ok(places.includes(place), JSON.stringify(places))
  })
}

test('the scope of an action is added to the model with a description, and API keys can have it', () => {
  const archive = action({ on: 'projects', scope: 'archive:project', access: signedIn, run })
  const described = action({ scope: 'tidy:all', description: 'Tidies up.', access: signedIn, run })
  const checked = checkModel(model(collections, { actions: { archive, tidy: described } } as Logic))
  assert.equal(checked.scopes.get('archive:project'), 'Archive: project')
  assert.equal(checked.scopes.get('tidy:all'), 'Tidies up.')
  const scopes = JSON.stringify(checked.collections.get('api_keys')?.fields.get('scopes')?.type.schema)
  assert.match(scopes, /archive:project/)
  assert.equal(checked.logic.actions.get('archive')?.scope, 'archive:project')
})
