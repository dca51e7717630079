/** The semantics of PUT and PATCH: merged documents, kept fields, values set to what they already are. */

import { user } from '../../../../src/base/principal.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import drafts from '../../../models/drafts.ts'
import type { OpenHarness } from './harness.ts'
import { runScenarios, type Scenario, type Seed } from './scenario.ts'

const admin = user(1, 'admin', 'all')
const ann = user(2, 'user', 'all')
const ben = user(3, 'user', 'all')
const old = '2020-01-01T00:00:00.000Z'

/** Draft 1 belongs to Ann and is open, draft 2 belongs to Ben and is closed. Only Ben sees the shelf. */
const seed: Seed = async harness => {
  await harness.seed('users', { name: 'Root', email: 'root@example.com', role: 'admin' })
  await harness.seed('users', { name: 'Ann', email: 'ann@example.com' })
  await harness.seed('users', { name: 'Ben', email: 'ben@example.com' })
  await harness.seed('shelves', { name: 'Hidden shelf', owner_id: 3 })
  const common = { shelf_id: 1, origin: 'here', review: 'fine', reason: 'why', pin: '1234', updated_at: old }
  await harness.seed('drafts', {
    ...common,
    title: 'One',
    owner_id: 2,
    notes: 'mine',
    settings: { theme: 'light', size: 3, more: { a: 1, b: [1] } },
    extra: { list: [1, 2], deep: { x: 1, y: { z: true } } },
    stamp: { by: 'Root' },
    restricted: { k: 'v' },
  })
  await harness.seed('drafts', {
    ...common,
    title: 'Two',
    owner_id: 3,
    state: 'closed',
    notes: 'kept',
    grade: 'high',
  })
}

const first = '/api/v1/drafts/1'
const second = '/api/v1/drafts/2'
const drafted = ['drafts']
const patch = { as: ann, method: 'PATCH', url: first }
const put = { as: ann, method: 'PUT', url: second }

const merging: readonly Scenario[] = [
  {
    name: 'PATCH merges an object into the document, nested nulls remove members (RFC 7396)',
    ...patch,
    body: { extra: { deep: { y: null, w: 2 }, list: [3], new: { a: null, b: 1 } } },
    status: 200,
    has: { extra: { list: [3], deep: { x: 1, y: undefined, w: 2 }, new: { a: undefined, b: 1 } } },
    changes: drafted,
  },
  {
    name: 'PATCH with the media type of merge patches does the same',
    ...patch,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { extra: { list: null } },
    status: 200,
    has: { extra: { list: undefined, deep: { x: 1, y: { z: true } } } },
    changes: drafted,
  },
  {
    name: 'PATCH replaces the document by a value that is not an object',
    ...patch,
    body: { extra: [null, { a: null }] },
    status: 200,
    has: { extra: [null, { a: null }] },
    changes: drafted,
  },
  {
    name: 'PATCH with null removes the document',
    ...patch,
    body: { extra: null },
    status: 200,
    has: { extra: null },
    changes: drafted,
  },
  {
    name: 'PATCH of a missing document creates one without the nulls',
    ...patch,
    url: second,
    body: { extra: { a: null, b: { c: null } } },
    status: 200,
    has: { extra: { a: undefined, b: { c: undefined } } },
    changes: drafted,
  },
  {
    name: 'a member called __proto__ is an ordinary member',
    ...patch,
    body: '{"extra":{"__proto__":{"admin":true},"list":null,"deep":null}}',
    headers: { 'content-type': 'application/json' },
    status: 200,
    lacks: ['list'],
    changes: drafted,
  },
  {
    name: 'a patch may omit what the schema requires when the document has it',
    ...patch,
    body: { settings: { size: 4, more: { a: null } } },
    status: 200,
    has: { settings: { theme: 'light', size: 4, more: { a: undefined, b: [1] } } },
    changes: drafted,
  },
  {
    name: 'a patch that removes a required member is refused',
    ...patch,
    body: { settings: { theme: null } },
    status: 400,
    has: { error: { code: 'VALIDATION_FAILED', details: [{ field: 'settings', code: 'required' }] } },
  },
  {
    name: 'an error in a patch names its place in the document',
    ...patch,
    body: { settings: { theme: 'too long' } },
    status: 400,
    has: { error: { code: 'VALIDATION_FAILED', details: [{ field: 'settings/theme', code: 'too_long' }] } },
  },
  {
    name: 'an invalid patch writes none of the other fields',
    ...patch,
    body: { title: 'New', settings: { colour: 1 } },
    status: 400,
    has: { error: { details: [{ field: 'settings', code: 'unknown_field' }] } },
  },
  {
    name: 'a patch with a text that cannot be stored is refused',
    ...patch,
    body: { extra: { a: 'x\u0000' } },
    status: 400,
    has: { error: { code: 'VALIDATION_FAILED', details: [{ field: 'extra', code: 'bad_format' }] } },
  },
  {
    name: 'a patch that changes nothing keeps the time of the last change',
    ...patch,
    body: { settings: { size: 3 }, extra: { gone: null, deep: { x: 1 } } },
    status: 200,
    has: { updated_at: old },
  },
  {
    name: 'PUT replaces the whole document',
    as: ann,
    method: 'PUT',
    url: first,
    body: { title: 'One', reason: 'why', settings: { theme: 'dark' }, extra: { a: null } },
    status: 200,
    has: { settings: { theme: 'dark', size: undefined }, extra: { a: null } },
    changes: drafted,
  },
  {
    name: 'the document of a PUT must be complete',
    as: ann,
    method: 'PUT',
    url: first,
    body: { title: 'One', reason: 'why', settings: { size: 1 } },
    status: 400,
    has: { error: { details: [{ field: 'settings', code: 'required' }] } },
  },
  {
    name: 'If-Match is evaluated before the merge',
    ...patch,
    headers: { 'if-match': '"other"' },
    body: { settings: { theme: null } },
    status: 412,
    has: { error: { code: 'PRECONDITION_FAILED' } },
  },
  {
    name: 'a patch that changes nothing is allowed on a document that the caller cannot write',
    ...patch,
    body: { stamp: { by: 'Root', not: null } },
    status: 200,
    has: { stamp: { by: 'Root' }, updated_at: old },
  },
  {
    name: 'a patch that changes a document that the caller cannot write is refused',
    ...patch,
    body: { stamp: { by: 'Ann' } },
    status: 403,
    has: { error: { code: 'FORBIDDEN', details: [{ field: 'stamp', code: 'forbidden' }] } },
  },
  {
    name: 'a patch of a document that the caller cannot read is merged and always counts as a change',
    ...patch,
    body: { restricted: { k: 'v' } },
    status: 200,
    has: { restricted: undefined, updated_at: /^2[01]\d[^0]/ },
    changes: drafted,
  },
]

const keptFields: readonly Scenario[] = [
  {
    name: 'PUT keeps omitted fields that the caller cannot write in this row',
    ...put,
    body: { title: 'Changed' },
    status: 200,
    has: { title: 'Changed', notes: 'kept', reason: 'why', grade: 'high', origin: 'here', shelf_id: null },
    changes: drafted,
  },
  {
    name: 'PUT resets omitted fields that the caller can write',
    ...put,
    url: first,
    body: { title: 'One', reason: 'new' },
    status: 200,
    has: { notes: null, reason: 'new', grade: 'none', extra: null },
    changes: drafted,
  },
  {
    name: 'PUT requires the required fields that the caller can write',
    ...put,
    url: first,
    body: { title: 'One' },
    status: 400,
    has: { error: { code: 'VALIDATION_FAILED', details: [{ field: 'reason', code: 'required' }] } },
  },
  {
    name: 'PUT by an administrator requires all required fields',
    ...put,
    as: admin,
    body: { title: 'Two' },
    status: 400,
    has: { error: { code: 'VALIDATION_FAILED', details: [{ field: 'origin', code: 'required' }] } },
  },
]

const unchangedValues: readonly Scenario[] = [
  {
    name: 'values may be sent back as they were read, though the caller cannot write the field or read the referenced item',
    ...put,
    url: first,
    body: {
      title: 'One, edited',
      owner_id: 2,
      shelf_id: 1,
      state: 'open',
      grade: 'none',
      origin: 'here',
      review: 'fine',
      notes: 'mine',
      reason: 'why',
      settings: { theme: 'light', size: 3, more: { a: 1, b: [1] } },
      extra: { list: [1, 2], deep: { x: 1, y: { z: true } } },
      stamp: { by: 'Root' },
    },
    status: 200,
    has: { title: 'One, edited', shelf_id: 1, review: 'fine' },
    changes: drafted,
  },
  {
    name: 'a value other than the stored one is refused',
    ...patch,
    body: { grade: 'high' },
    status: 403,
    has: { error: { code: 'FORBIDDEN', details: [{ field: 'grade', code: 'forbidden' }] } },
  },
  {
    name: 'a row rule refuses a value other than the stored one',
    ...patch,
    url: second,
    body: { notes: 'kept', reason: 'other' },
    status: 403,
    has: { error: { code: 'FORBIDDEN', message: /"reason"/, details: [{ field: 'reason' }] } },
  },
  {
    name: 'a changed reference to an unreadable item is refused',
    ...patch,
    as: ann,
    body: { shelf_id: 7 },
    status: 400,
    has: { error: { code: 'VALIDATION_FAILED', details: [{ field: 'shelf_id', code: 'not_found' }] } },
  },
  {
    name: 'the stored reference to an unreadable item may be sent alone and changes nothing',
    ...patch,
    url: second,
    body: { shelf_id: 1 },
    status: 200,
    has: { shelf_id: 1, updated_at: old },
  },
  ...['fine', 'other'].map(review => ({
    name: `an unreadable value is refused, whether it is the stored one or not (${review})`,
    ...patch,
    url: second,
    body: { review },
    status: 403,
    has: {
      error: {
        code: 'FORBIDDEN',
        message: 'You may not set "review" of this item.',
        details: [
          { field: 'review', code: 'forbidden', message: 'You may not set this field of this item.' },
        ],
      },
    },
  })),
  ...['1234', '9999'].map(pin => ({
    name: `a write-only value is refused, whether it is the stored one or not (${pin})`,
    ...patch,
    body: { pin },
    status: 403,
    has: {
      error: {
        code: 'FORBIDDEN',
        message: 'You may not set "pin".',
        details: [{ field: 'pin', code: 'forbidden', message: 'You may not set this field.' }],
      },
    },
  })),
  {
    name: 'the time of the change does not tell whether a write-only value was the same',
    as: admin,
    method: 'PATCH',
    url: first,
    body: { pin: '1234' },
    status: 200,
    has: { updated_at: /^2[01]\d[^0]/ },
    changes: drafted,
  },
  {
    name: 'a create refuses a field that the caller cannot write, even with its default',
    as: ben,
    method: 'POST',
    url: '/api/v1/drafts',
    body: { title: 'x', origin: 'x', reason: 'x', grade: 'none' },
    status: 403,
    has: { error: { code: 'FORBIDDEN', details: [{ field: 'grade' }, { field: 'origin' }] } },
  },
]

export function writeSemanticsContract(open: OpenHarness): void {
  runScenarios(checkModel(drafts), open, seed, [merging, keptFields, unchangedValues].flat())
}
