/** Scenarios that need the richer model: field rules, related rows, deprecation, search, many-to-many relations. */

import { anonymous, user } from '../../../../src/base/principal.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import rich from '../../../models/rich.ts'
import type { OpenHarness } from './harness.ts'
import { runScenarios, type Scenario, type Seed } from './scenario.ts'

const nobody = anonymous('192.0.2.1')
const admin = user(1, 'admin', 'all')
const ann = user(2, 'user', 'all')
const ben = user(3, 'user', 'all')
const accountant = user(4, 'accountant', 'all')

function distinctTerms(count: number): string {
  return Array.from({ length: count }, (_, index) => `w${index}`).join('+')
}

/** Ann owns project 1, with Ben a member; project 2 is Ben's alone; project 3 is open to all. */
const seed: Seed = async harness => {
  await harness.seed('users', { name: 'Root', email: 'root@example.com', role: 'admin', phone: '111' })
  await harness.seed('users', { name: 'Ann', email: 'ann@example.com', phone: '222', manager_id: 1 })
  await harness.seed('users', { name: 'Ben', email: 'ben@example.com', phone: '333', manager_id: 2 })
  await harness.seed('users', { name: 'Cat', email: 'cat@example.com', role: 'accountant' })
  await harness.seed('projects', { name: 'Garden wall', slug: 'garden', owner_id: 2, budget: 1000 })
  await harness.seed('projects', { name: 'Secret shed', slug: 'shed', owner_id: 3, budget: 7777 })
  await harness.seed('projects', { name: 'Open gate', slug: 'gate', owner_id: 1, visibility: 'open' })
  await harness.seed('memberships', { project_id: 1, user_id: 3 })
  await harness.seed('tasks', {
    title: 'Buy stones',
    notes: 'Grey ones',
    project_id: 1,
    assignee_id: 3,
    ticket: 'T-1',
  })
  await harness.seed('tasks', { title: 'Mix mortar', project_id: 1, parent_id: 1, colour: 'red' })
  await harness.seed('tasks', { title: 'Hide gold', project_id: 2 })
  await harness.seed('labels', { name: 'heavy' })
  await harness.seed('task_labels', { task_id: 1, label_id: 1 })
  await harness.seed('contacts', { owner_id: 2, email: 'mason@example.com', passphrase: 'correct horse' })
  await harness.seed('notices', { title: 'Closed on Monday', published_at: '2026-01-01T00:00:00.000Z' })
  await harness.seed('notices', { title: 'Not yet' })
}

const hidden: readonly Scenario[] = [
  {
    name: 'a field of one role is missing for other roles',
    as: ann,
    url: '/api/v1/projects/1',
    status: 200,
    has: { name: 'Garden wall', budget: undefined },
  },
  {
    name: 'a field of one role is returned to that role',
    as: accountant,
    url: '/api/v1/projects/3?fields=name,budget',
    status: 200,
    has: { name: 'Open gate', budget: null },
  },
  ...['fields=budget', 'sort=budget', 'budget=1000', 'budget[gte]=1'].map(query => ({
    name: 'a field of one role cannot be selected by others',
    as: ann,
    url: `/api/v1/projects?${query}`,
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /"budget/ } },
    lacks: ['1000,'],
  })),
  {
    name: 'a field that was never declared is an unknown parameter',
    as: ann,
    url: '/api/v1/projects?gudgel=1000',
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: 'The parameter "gudgel" is not known here.' } },
  },
  {
    name: 'a field that the caller cannot read is an unknown parameter, too',
    as: ann,
    url: '/api/v1/projects?budget=1000',
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: 'The parameter "budget" is not known here.' } },
  },
  {
    name: 'a field of the owner is null for others',
    as: ann,
    url: '/api/v1/users/3',
    status: 200,
    has: { name: 'Ben', phone: null },
    lacks: ['333'],
  },
  {
    name: 'a field of the owner is returned to the owner',
    as: ben,
    url: '/api/v1/users/3',
    status: 200,
    has: { phone: '333' },
  },
  {
    name: 'a filter by a field of another user’s item finds nothing',
    as: ann,
    url: '/api/v1/users?phone=333',
    status: 200,
    has: { data: [], meta: { total: 0 } },
  },
  {
    name: 'nor its negation',
    as: ann,
    url: '/api/v1/users?phone[ne]=333',
    status: 200,
    has: { data: [{ id: 2, phone: '222' }] },
  },
  {
    name: 'a write-only field is never read',
    as: ann,
    url: '/api/v1/contacts/1',
    status: 200,
    has: { email: 'mason@example.com', passphrase: undefined },
    lacks: ['horse'],
  },
  {
    name: 'nor filtered by',
    as: ann,
    url: '/api/v1/contacts?passphrase[contains]=horse',
    status: 400,
    has: { error: { message: /"passphrase\[contains\]" is not known/ } },
  },
  {
    name: 'a write-only field is missing from the response to its write',
    as: ann,
    method: 'PATCH',
    url: '/api/v1/contacts/1',
    body: { passphrase: 'battery staple' },
    status: 200,
    lacks: ['battery'],
    changes: ['contacts'],
  },
  {
    name: 'an internal collection responds 404',
    as: admin,
    url: '/api/v1/tasks/1',
    status: 200,
    has: { ticket: undefined },
    lacks: ['T-1'],
  },
]

const related: readonly Scenario[] = [
  {
    name: 'a member sees the tasks of the project and no others',
    as: ben,
    url: '/api/v1/projects/1/tasks?fields=title',
    status: 200,
    has: { data: [{ title: 'Buy stones' }, { title: 'Mix mortar' }], meta: { total: 2 } },
  },
  {
    name: 'a caller who is not a member does not see the project',
    as: accountant,
    url: '/api/v1/projects/1',
    status: 404,
    has: { error: { code: 'NOT_FOUND' } },
    lacks: ['Garden'],
  },
  {
    name: 'a caller who is not a member does not see the tasks of the project',
    as: accountant,
    url: '/api/v1/projects/1/tasks',
    status: 404,
    lacks: ['stones'],
  },
  {
    name: 'totals count readable items only',
    as: ann,
    url: '/api/v1/projects',
    status: 200,
    has: { data: [{ id: 1 }, { id: 3 }], meta: { total: 2 } },
    lacks: ['shed'],
  },
  {
    name: 'include embeds readable items only',
    as: ann,
    url: '/api/v1/users/3?include=projects',
    status: 200,
    has: { id: 3, projects: [] },
    lacks: ['shed'],
  },
  {
    name: 'include embeds two to-many relations',
    as: ann,
    url: '/api/v1/projects/1?include=tasks,members&fields=id',
    status: 200,
    has: { id: 1, tasks: [{ id: 1 }, { id: 2 }], members: [{ id: 3, phone: null }] },
  },
  {
    name: 'include follows a relation of a collection to itself',
    as: ann,
    url: '/api/v1/tasks/2?include=parent.parent',
    status: 200,
    has: { id: 2, parent: { id: 1, parent: null } },
  },
  {
    name: 'a many-to-many relation is listed',
    as: ann,
    url: '/api/v1/tasks/1/labels',
    status: 200,
    has: { data: [{ name: 'heavy' }], meta: { total: 1 } },
  },
  {
    name: 'a many-to-many relation lists readable items only',
    as: accountant,
    url: '/api/v1/labels/1/tasks',
    status: 200,
    has: { data: [], meta: { total: 0 } },
    lacks: ['stones'],
  },
  {
    name: 'an unreadable task cannot be changed',
    as: accountant,
    method: 'PATCH',
    url: '/api/v1/tasks/1',
    body: { title: 'Mine' },
    status: 404,
    has: { error: { code: 'NOT_FOUND' } },
  },
  {
    name: 'a member cannot delete a task',
    as: ben,
    method: 'DELETE',
    url: '/api/v1/tasks/1',
    status: 403,
    has: { error: { code: 'FORBIDDEN' } },
  },
  {
    name: 'a task cannot be created in an unreadable project',
    as: ann,
    method: 'POST',
    url: '/api/v1/tasks',
    body: { title: 'Spy', project_id: 2 },
    status: 400,
    has: { error: { code: 'VALIDATION_FAILED', details: [{ field: 'project_id' }] } },
    lacks: ['shed'],
  },
  {
    name: 'a missing project gives the same error as an unreadable one',
    as: ann,
    method: 'POST',
    url: '/api/v1/tasks',
    body: { title: 'Spy', project_id: 99 },
    status: 400,
    has: { error: { code: 'VALIDATION_FAILED', details: [{ field: 'project_id' }] } },
  },
]

const fields: readonly Scenario[] = [
  {
    name: 'every type is returned in its canonical form',
    as: ann,
    method: 'POST',
    url: '/api/v1/tasks',
    body: {
      title: 'All',
      project_id: 1,
      priority: 5,
      estimate: 1.5,
      done: true,
      due_on: '2026-12-24',
      reminded_at: '2026-12-24T10:00:00+02:00',
      reference: 'ABCDEF00-0000-4000-8000-000000000000',
      link: 'https://example.com/a',
      extra: { a: [1, null] },
    },
    status: 201,
    has: {
      done: true,
      estimate: 1.5,
      due_on: '2026-12-24',
      reminded_at: '2026-12-24T08:00:00.000Z',
      reference: 'abcdef00-0000-4000-8000-000000000000',
      extra: { a: [1, null] },
      state: 'open',
      score: 0,
      ticket: undefined,
    },
    changes: ['tasks'],
  },
  {
    name: 'an immutable field cannot be changed',
    as: ann,
    method: 'PATCH',
    url: '/api/v1/projects/1',
    body: { slug: 'other' },
    status: 400,
    has: { error: { details: [{ field: 'slug', code: 'immutable' }] } },
  },
  {
    name: 'a field that the caller cannot write is refused',
    as: ann,
    method: 'PATCH',
    url: '/api/v1/projects/1',
    body: { budget: 5 },
    status: 403,
    has: { error: { code: 'FORBIDDEN', message: /budget/ } },
  },
  {
    name: 'PUT keeps fields that the caller cannot write',
    as: ann,
    method: 'PUT',
    url: '/api/v1/projects/1',
    body: { name: 'Wall' },
    status: 200,
    has: { name: 'Wall', slug: 'garden', visibility: 'members' },
    changes: ['projects'],
  },
  {
    name: 'a value that is not one of the choices is refused',
    as: ann,
    method: 'PATCH',
    url: '/api/v1/tasks/1',
    body: { state: 'lost' },
    status: 400,
    has: { error: { details: [{ field: 'state', code: 'not_allowed' }] } },
  },
  {
    name: 'a filter compares booleans',
    as: ann,
    url: '/api/v1/tasks?done=false&fields=id',
    status: 200,
    has: { data: [{ id: 1 }, { id: 2 }] },
  },
  {
    name: 'a filter refuses a value that is not a boolean',
    as: ann,
    url: '/api/v1/tasks?done=0',
    status: 400,
    has: { error: { message: /"done" must be true or false, not "0"/ } },
  },
  {
    name: 'a filter refuses a value that is not one of the choices',
    as: ann,
    url: '/api/v1/tasks?state[in]=open,lost',
    status: 400,
    has: { error: { message: /"state\[in\]" must be one of open, doing, done, not "lost"/ } },
  },
  {
    name: 'JSON fields cannot be compared',
    as: ann,
    url: '/api/v1/tasks?extra=1',
    status: 400,
    has: { error: { message: /extra takes extra\[null\]/ } },
  },
  {
    name: 'JSON fields cannot be sorted',
    as: ann,
    url: '/api/v1/tasks?sort=extra',
    status: 400,
    has: { error: { message: /"extra", which has no order/ } },
  },
  {
    name: 'a search finds items that contain all terms',
    as: ann,
    url: '/api/v1/tasks?q=GREY+stones&fields=id',
    status: 200,
    has: { data: [{ id: 1 }], meta: { total: 1 } },
  },
  {
    name: 'a search does not find unreadable items',
    as: ann,
    url: '/api/v1/tasks?q=gold',
    status: 200,
    has: { data: [], meta: { total: 0 } },
  },
  {
    name: 'search results are sorted by rank',
    as: ann,
    url: '/api/v1/tasks?q=GREY+stones&sort=-q&fields=id',
    status: 200,
    has: { data: [{ id: 1 }], meta: { total: 1 } },
  },
  ...['q=x&sort=q', 'sort=-q', 'q=x&sort=-q,title', 'q=x&sort=-id,-q'].map(query => ({
    name: `an order by rank is refused: ${query}`,
    as: ann,
    url: `/api/v1/tasks?${query}`,
    status: 400,
    has: {
      error: {
        message: /^The order by rank is "sort=-q", alone and with "q"/,
        details: [{ field: 'sort', code: 'not_sortable' }],
      },
    },
  })),
  {
    name: 'an order by rank is refused where the model declares no search',
    as: ann,
    url: '/api/v1/projects?sort=-q',
    status: 400,
    has: { error: { message: /"q"/, details: [{ field: 'sort' }] } },
  },
  {
    name: 'an empty search is refused',
    as: ann,
    url: '/api/v1/tasks?q=',
    status: 400,
    has: { error: { message: /"q" is empty/ } },
  },
  {
    name: 'repeated search terms count once',
    as: ann,
    url: `/api/v1/tasks?q=${'GREY+'.repeat(80)}stones&fields=id`,
    status: 200,
    has: { data: [{ id: 1 }], meta: { total: 1 } },
  },
  {
    name: 'a search accepts the maximum number of terms',
    as: ann,
    url: `/api/v1/tasks?q=${distinctTerms(32)}`,
    status: 200,
    has: { data: [] },
  },
  {
    name: 'a search refuses more terms than the maximum',
    as: ann,
    url: `/api/v1/tasks?q=${distinctTerms(33)}`,
    status: 400,
    has: {
      error: {
        message: 'The parameter "q" has 33 different words; at most 32 are allowed.',
        details: [{ field: 'q', code: 'too_many' }],
      },
    },
  },
  {
    name: 'a search accepts a text of the maximum length',
    as: ann,
    url: `/api/v1/tasks?q=${'x'.repeat(500)}`,
    status: 200,
    has: { data: [] },
  },
  {
    name: 'a search refuses a longer text',
    as: ann,
    url: `/api/v1/tasks?q=${'x'.repeat(501)}`,
    status: 400,
    has: {
      error: {
        message: 'The parameter "q" has 501 characters; at most 500 are allowed.',
        details: [{ field: 'q', code: 'too_long' }],
      },
    },
  },
  {
    name: 'contains refuses a longer text',
    as: ann,
    url: `/api/v1/tasks?title[contains]=${'x'.repeat(501)}`,
    status: 400,
    has: {
      error: {
        message: 'The parameter "title[contains]" has 501 characters; at most 500 are allowed.',
        details: [{ field: 'title[contains]', code: 'too_long' }],
      },
    },
  },
  {
    name: 'FTS syntax in a search is plain text',
    as: ann,
    url: '/api/v1/tasks?q=%22stones%22+OR+NEAR(gold)*',
    status: 200,
    has: { data: [] },
  },
  {
    name: 'a unique value that is taken is refused',
    as: ann,
    method: 'POST',
    url: '/api/v1/projects',
    body: { name: 'x', slug: 'garden' },
    status: 409,
    has: { error: { code: 'CONFLICT', details: [{ field: 'slug' }] } },
  },
  {
    name: 'a method that no rule allows is not offered',
    as: admin,
    method: 'PATCH',
    url: '/api/v1/task_labels/1',
    body: {},
    status: 405,
    sends: { Allow: 'GET, HEAD, DELETE, OPTIONS' },
  },
]

const sunset = 'Mon, 01 Feb 2027 00:00:00 GMT'

const deprecated: readonly Scenario[] = [
  {
    name: 'a deprecated collection sends Deprecation and Sunset',
    as: nobody,
    url: '/api/v1/notices',
    status: 200,
    has: { data: [{ id: 1 }] },
    lacks: ['Not yet'],
    sends: { Deprecation: '@1769904000', Sunset: sunset },
  },
  {
    name: 'an item of a deprecated collection sends them, too',
    as: nobody,
    url: '/api/v1/notices/1',
    status: 200,
    sends: { Deprecation: '@1769904000', Sunset: sunset },
  },
  {
    name: 'a response with a deprecated field sends Deprecation and Sunset',
    as: ann,
    url: '/api/v1/tasks/2',
    status: 200,
    has: { colour: 'red' },
    sends: { Deprecation: '@1767225600', Sunset: 'Fri, 01 Jan 2027 00:00:00 GMT' },
  },
  {
    name: 'a response without the deprecated field sends neither',
    as: ann,
    url: '/api/v1/tasks/2?fields=title',
    status: 200,
    sends: { Deprecation: null, Sunset: null },
  },
  {
    name: 'a filter by a deprecated field sends Deprecation',
    as: ann,
    url: '/api/v1/tasks?fields=title&colour=red',
    status: 200,
    has: { data: [{ title: 'Mix mortar' }] },
    sends: { Deprecation: '@1767225600' },
  },
  {
    name: 'a write of a deprecated field sends Deprecation',
    as: admin,
    method: 'PATCH',
    url: '/api/v1/tasks/2?fields=id',
    body: { colour: 'blue' },
    status: 200,
    sends: { Deprecation: '@1767225600' },
    changes: ['tasks'],
  },
]

const relatedFilters: readonly Scenario[] = [
  {
    name: 'a filter follows a to-one relation',
    as: ann,
    url: '/api/v1/tasks?project.name=Garden+wall&sort=-id&fields=id',
    status: 200,
    has: { data: [{ id: 2 }, { id: 1 }], meta: { total: 2 } },
  },
  {
    name: 'a filter with an operator follows two relations',
    as: ann,
    url: '/api/v1/tasks?project.owner.name[contains]=An&fields=id&cursor=',
    status: 200,
    has: { data: [{ id: 1 }, { id: 2 }] },
  },
  {
    name: 'a missing related item matches no filter, a missing value of an existing one matches null=true',
    as: ann,
    url: '/api/v1/tasks?parent.parent_id[null]=true&fields=id',
    status: 200,
    has: { data: [{ id: 2 }], meta: { total: 1 } },
  },
  {
    name: 'a filter follows a to-many relation',
    as: ann,
    url: '/api/v1/projects?tasks.title[contains]=stones&fields=id',
    status: 200,
    has: { data: [{ id: 1 }], meta: { total: 1 } },
  },
  {
    name: 'two conditions on a to-many relation must match the same item',
    as: ann,
    url: '/api/v1/projects?tasks.title[contains]=stones&tasks.parent_id=1',
    status: 200,
    has: { data: [], meta: { total: 0 } },
  },
  {
    name: 'an item that matches both conditions is found',
    as: ann,
    url: '/api/v1/projects?tasks.title[contains]=mortar&tasks.parent_id=1&fields=id',
    status: 200,
    has: { data: [{ id: 1 }], meta: { total: 1 } },
  },
  {
    name: 'a filter follows a many-to-many relation and continues from it',
    as: ann,
    url: '/api/v1/tasks?labels.name=heavy&labels.tasks.title[contains]=stones&fields=id',
    status: 200,
    has: { data: [{ id: 1 }], meta: { total: 1 } },
  },
  {
    name: 'a related list is filtered by a further relation',
    as: ann,
    url: '/api/v1/projects/1/tasks?assignee.name=Ben&fields=id',
    status: 200,
    has: { data: [{ id: 1 }], meta: { total: 1 } },
  },
  {
    name: 'a many-to-many list is filtered by a further relation',
    as: ann,
    url: '/api/v1/labels/1/tasks?assignee.id[in]=2,3&fields=id',
    status: 200,
    has: { data: [{ id: 1 }], meta: { total: 1 } },
  },
  {
    name: 'a filter does not find items by unreadable related items',
    as: ann,
    url: '/api/v1/users?projects.name=Secret+shed',
    status: 200,
    has: { data: [], meta: { total: 0 } },
  },
  {
    name: 'a filter does not find items by a related value that reads as null',
    as: ann,
    url: '/api/v1/tasks?assignee.phone=333',
    status: 200,
    has: { data: [], meta: { total: 0 } },
  },
  {
    name: 'a filter by an unreadable field of a related item is unknown',
    as: ann,
    url: '/api/v1/tasks?project.budget[gte]=1',
    status: 400,
    has: {
      error: { code: 'BAD_REQUEST', message: 'The parameter "project.budget[gte]" is not known here.' },
    },
  },
  {
    name: 'a filter by that field is known to callers who can read it',
    as: admin,
    url: '/api/v1/tasks?project.budget[gt]=1000&fields=id',
    status: 200,
    has: { data: [{ id: 3 }], meta: { total: 1 } },
  },
  {
    name: 'a filter requires the scope of the related collection',
    as: user(2, 'user', new Set(['read:task'])),
    url: '/api/v1/tasks?assignee.name=Ben',
    status: 403,
    has: { error: { code: 'INSUFFICIENT_SCOPE' } },
  },
  {
    name: 'a filter along a private relation requires a credential',
    as: nobody,
    url: '/api/v1/labels?tasks.title=x',
    status: 401,
  },
  ...[
    ['tasks?parent.parent.parent.parent.id=1', 'too_deep'],
    ['projects?tasks.labels.tasks.id=1', 'too_deep'],
    ['tasks?project.id[like]=1', 'unknown_parameter'],
    ['tasks?.id=1', 'unknown_parameter'],
    ['tasks?project.=1', 'unknown_parameter'],
    ['tasks?project=1', 'unknown_parameter'],
    ['tasks?project.priority=high', 'unknown_parameter'],
    ['tasks?project.id=high', 'wrong_type'],
  ].map(([url = '', code = '']) => ({
    name: `${url} is refused`,
    as: ann,
    url: `/api/v1/${url}`,
    status: 400,
    has: { error: { code: 'BAD_REQUEST', details: [{ code }] } },
  })),
]

export function richContract(open: OpenHarness): void {
  runScenarios(checkModel(rich), open, seed, [hidden, related, relatedFilters, fields, deprecated].flat())
}
