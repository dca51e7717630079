/** Limits of GraphQL documents, subscriptions and their resumption, and conditional requests. */
import { type Mutant, mutantsOf } from './mutant.ts'

const limits = ['api/graphql/limits']

export const graphql: readonly Mutant[] = [
  ...mutantsOf(
    'api/graphql/execute/introspection',
    ['api/graphql/engine'],
    [
      ['an introspection has no bound', "new AnswerBound(limits, 'readBytes').require(text)", ''],
      [
        'requests with other variables share a result',
        'const isShared = bound.prepared.types.length === 0',
        'const isShared = true',
        'each request with variables has its own bound query; only the cache fills up',
      ],
    ],
  ),
  ...mutantsOf(
    'api/graphql/plan/aggregate-plan',
    ['api/contract/graphql/same'],
    [
      [
        'aggregates follow any number of relations',
        'if (fault !== undefined) throw badRequest(fault, node)',
        '',
      ],
      [
        'a related measure is that of the items',
        'this.#measureIndex({ kind: measure, path, field: field.name })',
        'this.#measureIndex({ kind: measure, field: field.name })',
      ],
      ['keys of related items are not counted', 'if (keys.length <= maxKeys) return keys', 'return keys'],
    ],
  ),
  ...mutantsOf('api/graphql/limits/document-limits', limits, [
    [
      'fragment spreads are not counted',
      'return combine(this.fragment(node.name.value), { ...ownMeasure, fields: 1 })',
      'return combine(noMeasure, { ...ownMeasure, fields: 1 })',
    ],
    ['spreads of empty fragments cost nothing', '{ ...ownMeasure, fields: 1 })', 'ownMeasure)'],
    [
      'the nesting of default values is not limited',
      '    for (const { defaultValue } of variableDefinitions) if (defaultValue) checkNesting(defaultValue)\n',
      '',
    ],
    [
      'a fragment cycle that no operation uses is not detected',
      '  for (const name of fragments.keys()) meter.fragment(name)\n',
      '',
    ],
    [
      'a value equal to the limit is refused',
      '    if (count <= bound) return\n    throw badRequest(`The operation',
      '    if (count < bound) return\n    throw badRequest(`The operation',
    ],
    [
      'only the largest of parallel selections counts',
      'aliases: Math.min(countCap, a.aliases + b.aliases)',
      'aliases: Math.max(a.aliases, b.aliases)',
    ],
    [
      'introspection counts towards the depth',
      'depth: isIntrospection ? 1 : innerMeasure.depth + 1',
      'depth: innerMeasure.depth + 1',
    ],
    [
      'directives of fields are not counted',
      'directives: Math.min(countCap, innerMeasure.directives + ownMeasure.directives)',
      'directives: innerMeasure.directives',
    ],
    [
      'directives of the operation are not counted',
      'return combine(this.#set(selectionSet), { ...noMeasure, directives: directives.length })',
      'return combine(this.#set(selectionSet), { ...noMeasure, directives: Math.min(0, directives.length) })',
    ],
    [
      'nested objects do not count as nested',
      'checkNesting(field.value, depth + 1)',
      'checkNesting(field.value, depth)',
    ],
    ['only the last operation is measured', '    total = combine(total, measure)\n', '    total = measure\n'],
    [
      'the product of introspection lists is not limited',
      'lists: innerMeasure.lists + (introspectionLists.has(name) ? 1 : 0)',
      'lists: innerMeasure.lists',
    ],
    ['a fragment is measured again at every spread', '    this.#measured.set(name, measure)\n', ''],
    [
      'the length of a document is not limited',
      '  if (source.length <= bound) return\n',
      '  if (source.length > 0) return\n',
    ],
  ]),
  ...mutantsOf(
    'base/quota',
    ['base/quota'],
    [
      ['one more than the limit may be open', 'if (open >= this.#max) throw', 'if (open > this.#max) throw'],
      [
        'a closed subscription still counts as open',
        'if (open > 0) this.#open.set(key, open)',
        'if (open > 0) this.#open.set(key, open + 1)',
      ],
      [
        'callers without open subscriptions keep an entry',
        'else this.#open.delete(key)',
        'else this.#open.set(key, 0)',
        'the limits are the same; only the memory grows, by an entry per caller',
      ],
      [
        'closing more than was open raises the limit',
        'if (open > 0) this.#open.set(key, open)\n    else this.#open.delete(key)',
        'this.#open.set(key, open)',
      ],
    ],
  ),
  ...mutantsOf(
    'api/events/quota',
    ['api/events/group-quota'],
    [
      [
        'one more distinct request than the limit may be open',
        'if (open < this.#max || groups?.has(group)) return',
        'if (open <= this.#max || groups?.has(group)) return',
      ],
      [
        'a request that is already open is refused at the limit',
        'if (open < this.#max || groups?.has(group)) return',
        'if (open < this.#max) return',
      ],
      [
        'the first subscriber that ends frees the place of all with its request',
        'if (subscribers > 1) return void groups?.set(group, subscribers - 1)',
        'if (subscribers > 2) return void groups?.set(group, subscribers - 1)',
      ],
      [
        'the last subscriber that ends frees no place',
        '    groups?.delete(group)\n',
        '    groups?.set(group, 0)\n',
      ],
    ],
  ),
  ...mutantsOf(
    'api/events/groups',
    ['api/events/group-quota'],
    [
      [
        'a caller may open any number of distinct requests',
        '    this.#quota.require(subscriber.caller, groupKey(subscriber))\n',
        '',
      ],
      [
        'a subscription that has ended still counts',
        '    this.#quota.release(subscriber.caller, group.key)\n',
        '',
      ],
    ],
  ),
  ...mutantsOf(
    'api/events/hub',
    ['api/events/replay', 'api/events/hub'],
    [
      [
        'a subscriber that joins during a delivery misses its event',
        'if (this.#join(subscriber)) this.#fanOut.catchUp(subscriber)',
        'this.#join(subscriber)',
      ],
      [
        'held replies are sent after the permissions have changed',
        'if (subscriber.isHeld) subscriber.dropHeld()',
        'if (!subscriber) return',
      ],
    ],
  ),
  ...mutantsOf(
    'api/events/subscriber',
    ['api/events/replay', 'api/events/hub'],
    [
      ['a subscriber that missed live replies becomes live', 'if (this.#isIncomplete) return false', ''],
      ['an event is sent twice', 'if (event <= this.#position) return', ''],
    ],
  ),
  ...mutantsOf(
    'api/events/replays',
    ['api/events/replay'],
    [
      [
        'a replay becomes live before it has caught up',
        'if (livePosition() <= batch.until) {',
        'if (batch) {',
      ],
      [
        'pruned events are skipped silently',
        'if (logged[0]?.event !== position + 1) checkResumable(position, await feed.bounds())',
        '',
      ],
      [
        'a slow client is sent everything at once',
        'if (keptUp && member.isOpen) return this.#setAside(member, keptUp)',
        '',
      ],
      [
        'the last event of a batch is skipped',
        'logged.filter(({ event }) => event <= end)',
        'logged.filter(({ event }) => event < end)',
      ],
    ],
  ),
  ...mutantsOf(
    'api/events/resume',
    ['api/events/replay', 'api/transports/resume'],
    [
      [
        'a subscriber whose last event is the last pruned one cannot resume',
        'if (after < pruned) {',
        'if (after <= pruned) {',
      ],
      ['a subscriber that has missed nothing cannot resume', 'if (after > drawn) {', 'if (after >= drawn) {'],
    ],
  ),
  ...mutantsOf(
    'api/graphql/limits/scan-cost',
    ['api/graphql/scan-cost', ...limits],
    [
      [
        'a related list costs as much as a collection',
        'times * (isOfRelation ? innerScanCost : collectionScanCost)',
        'times * collectionScanCost',
      ],
      [
        'a filtered total costs nothing',
        'if (search !== undefined || (countsTotal && filter)) return true',
        'if (search !== undefined) return true',
      ],
      [
        'the costs of nested lists are not multiplied',
        'assumedMatches ** (lists - 1)',
        'assumedMatches * (lists - 1)',
      ],
    ],
  ),
  ...mutantsOf(
    'base/predicate',
    ['api/graphql/scan-cost', ...limits],
    [
      ['a disjunction with one indexed part costs nothing', '!parts.includes(false)', 'parts.includes(true)'],
      [
        'a conjunction needs an index for every part',
        'and: parts => parts.includes(true)',
        'and: parts => !parts.includes(false)',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/plan/scans',
    ['api/graphql/scan-cost', ...limits],
    [
      [
        'the second field of an index counts as indexed',
        'indexes.some(({ keys: [first] }) => first?.field === name)',
        'indexes.some(({ keys }) => keys.some(key => key.field === name))',
      ],
      [
        'a comparison that no index serves counts as selective',
        "'gt', 'gte', 'lt', 'lte', 'starts_with'])",
        "'gt', 'gte', 'lt', 'lte', 'starts_with', 'ne'])",
      ],
    ],
  ),
  ...mutantsOf(
    'api/graphql/documents/validation-rules',
    ['api/graphql/validation-rules'],
    [
      [
        'unknown variable types are accepted',
        "[KnownTypeNamesRule, ['...', 'fragment', '$']]",
        "[KnownTypeNamesRule, ['...', 'fragment']]",
      ],
      [
        'a subscription may have several root fields',
        "[SingleFieldSubscriptionsRule, ['subscription']]",
        "[SingleFieldSubscriptionsRule, ['subscription {']]",
      ],
      [
        'introspection cannot be disabled',
        'return introspection ? applicable : [...applicable, NoSchemaIntrospectionCustomRule]',
        'return applicable',
      ],
    ],
  ),
  ...mutantsOf(
    'base/conditional',
    ['api/rest/conditional'],
    [
      [
        'exactly the maximum number of entity tags is refused',
        'tags.length > maxTags',
        'tags.length >= maxTags',
      ],
      [
        'one entity tag more than the maximum is accepted',
        'tags.length > maxTags',
        'tags.length > maxTags + 1',
      ],
      ['a weak entity tag matches strongly', "tags.filter(tag => !tag.startsWith('W/'))", 'tags'],
      ['a weak entity tag does not match weakly', 'own === etag || own === `W/${etag}`', 'own === etag'],
    ],
  ),
]
