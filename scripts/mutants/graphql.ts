/** What a document may ask for, and conditional requests. */
import { type Mutant, mutantsOf } from './mutant.ts'

const limits = ['graphql/limits']

export const graphql: readonly Mutant[] = [
  ...mutantsOf('graphql/limits/document-limits', limits, [
    [
      'spread fragments are not counted',
      'return joined(this.fragment(node.name.value), { ...own, fields: 1 })',
      'return joined(nothing, { ...own, fields: 1 })',
    ],
    ['empty spreads cost nothing', '{ ...own, fields: 1 })', 'own)'],
    [
      'a default value is nested without end',
      '    for (const { defaultValue } of variableDefinitions) if (defaultValue) checkNesting(defaultValue)\n',
      '',
    ],
    [
      'a cycle that no operation uses is not found',
      '  for (const name of fragments.keys()) meter.fragment(name)\n',
      '',
    ],
    [
      'the bound itself is refused',
      '    if (figure <= bound) return\n    const shown = figure >= countCap ? `more than ${countCap}` : figure\n    throw badRequest(`The operation',
      '    if (figure < bound) return\n    const shown = figure >= countCap ? `more than ${countCap}` : figure\n    throw badRequest(`The operation',
    ],
    [
      'selections side by side are the deepest one',
      'aliases: Math.min(countCap, a.aliases + b.aliases)',
      'aliases: Math.max(a.aliases, b.aliases)',
    ],
    ['depths side by side are added', 'depth: Math.max(a.depth, b.depth)', 'depth: a.depth + b.depth'],
    [
      'introspection counts as depth',
      'depth: isIntrospection ? 1 : inner.depth + 1',
      'depth: inner.depth + 1',
    ],
    [
      'directives of fields are not counted',
      'directives: Math.min(countCap, inner.directives + own.directives)',
      'directives: inner.directives',
    ],
    [
      'directives of the operation are not counted',
      'return joined(this.#set(selectionSet), { ...nothing, directives: directives.length })',
      'return joined(this.#set(selectionSet), { ...nothing, directives: Math.min(0, directives.length) })',
    ],
    [
      'an object’s fields are not nested',
      'checkNesting(field.value, depth + 1)',
      'checkNesting(field.value, depth)',
    ],
    [
      'what an operation holds is forgotten at the next',
      '    all = joined(all, measure)\n',
      '    all = measure\n',
    ],
    [
      'lists of an introspection multiply without bound',
      'lists: inner.lists + (introspectionLists.has(name) ? 1 : 0)',
      'lists: inner.lists',
    ],
    ['a fragment is measured anew at every spread', '    this.#measured.set(name, measure)\n', ''],
    [
      'a document of any length is read',
      '  if (source.length <= bound) return\n',
      '  if (source.length > 0) return\n',
    ],
  ]),
  ...mutantsOf(
    'events/quota',
    ['events/quota'],
    [
      ['one more may be open', 'if (open >= this.#max) {', 'if (open > this.#max) {'],
      [
        'what was closed stays open',
        'if (open > 0) this.#open.set(key, open)',
        'if (open > 0) this.#open.set(key, open + 1)',
      ],
      [
        'callers without anything open are remembered',
        'else this.#open.delete(key)',
        'else this.#open.set(key, 0)',
        'they have nothing open either way; memory alone grows, by a key for each caller',
      ],
      [
        'who closes more than is open may have more',
        'if (open > 0) this.#open.set(key, open)\n    else this.#open.delete(key)',
        'this.#open.set(key, open)',
      ],
    ],
  ),
  ...mutantsOf(
    'events/hub',
    ['events/replay', 'events/hub'],
    [
      [
        'an event that is being delivered misses who joins',
        'if (this.#join(subscriber)) this.#delivery.catchUp(subscriber)',
        'this.#join(subscriber)',
      ],
      [
        'what waits is sent although the rights have changed',
        'if (subscriber.isHeld) subscriber.dropHeld()',
        'if (!subscriber) return',
      ],
    ],
  ),
  ...mutantsOf(
    'events/subscriber',
    ['events/replay', 'events/hub'],
    [
      ['who misses live replies goes live', 'if (this.#isIncomplete) return false', ''],
      ['an event is sent twice', 'if (event <= this.#position) return', ''],
    ],
  ),
  ...mutantsOf(
    'events/replays',
    ['events/replay'],
    [
      [
        'a replay joins what is live before it is there',
        'if (livePosition() <= batch.until) {',
        'if (batch) {',
      ],
      [
        'events that were pruned are skipped without a word',
        'if (found[0]?.event !== position + 1) checkResumable(position, await feed.bounds())',
        '',
      ],
      ['a slow client is sent everything at once', 'if (keptUp) return void this.#park(member, keptUp)', ''],
      [
        'what is beyond the end of a batch is passed over',
        'found.filter(({ event }) => event <= end)',
        'found.filter(({ event }) => event < end)',
      ],
    ],
  ),
  ...mutantsOf(
    'events/resume',
    ['events/replay', 'transports/resume'],
    [
      ['who has all that is pruned cannot resume', 'if (after < pruned) {', 'if (after <= pruned) {'],
      ['who has missed nothing cannot resume', 'if (after > drawn) {', 'if (after >= drawn) {'],
    ],
  ),
  ...mutantsOf(
    'graphql/limits/scan-cost',
    ['graphql/scan-cost', ...limits],
    [
      [
        'a list of an item costs what a collection does',
        'times * (inner ? innerScanCost : collectionScanCost)',
        'times * collectionScanCost',
      ],
      [
        'a total of some rows costs nothing',
        'if (search !== undefined || (counted && filter)) return true',
        'if (search !== undefined) return true',
      ],
      ['lists within lists cost once', 'assumedMatches ** (lists - 1)', 'assumedMatches * (lists - 1)'],
    ],
  ),
  ...mutantsOf(
    'plan/scans',
    ['graphql/scan-cost', ...limits],
    [
      [
        'a choice that one index serves costs nothing',
        'filter.filters.length > 0 && filter.filters.every(one => usesIndex(one, target))',
        'filter.filters.length > 0 && filter.filters.some(one => usesIndex(one, target))',
      ],
      [
        'a conjunction takes an index for every part',
        "return filter.filters.some(one => usesIndex(one, target))\n    case 'or'",
        "return filter.filters.every(one => usesIndex(one, target))\n    case 'or'",
      ],
      [
        'an index serves its second field',
        'indexes.some(({ keys: [first] }) => first?.field === name)',
        'indexes.some(({ keys }) => keys.some(key => key.field === name))',
      ],
      [
        'a comparison that no index serves is narrow',
        "'gt', 'gte', 'lt', 'lte', 'starts_with'])",
        "'gt', 'gte', 'lt', 'lte', 'starts_with', 'ne'])",
      ],
    ],
  ),
  ...mutantsOf(
    'graphql/documents/validation-rules',
    ['graphql/validation-rules'],
    [
      [
        'the types of variables need not exist',
        "[KnownTypeNamesRule, ['...', 'fragment', '$']]",
        "[KnownTypeNamesRule, ['...', 'fragment']]",
      ],
      [
        'several fields of a subscription are taken',
        "[SingleFieldSubscriptionsRule, ['subscription']]",
        "[SingleFieldSubscriptionsRule, ['subscription {']]",
      ],
      [
        'introspection is always there',
        'return introspection ? rules : [...rules, NoSchemaIntrospectionCustomRule]',
        'return rules',
      ],
    ],
  ),
  ...mutantsOf(
    'conditional',
    ['rest/conditional'],
    [
      ['exactly as many tags as may be are refused', 'tags.length > maxTags', 'tags.length >= maxTags'],
      ['one more tag is taken than may be', 'tags.length > maxTags', 'tags.length > maxTags + 1'],
      ['a weak tag matches strongly', "tags.filter(tag => !tag.startsWith('W/'))", 'tags'],
      ['a weak tag does not match weakly', 'tag === etag || tag === `W/${etag}`', 'tag === etag'],
    ],
  ),
]
