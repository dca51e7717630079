/** Mutants of the code that both databases share, and of SQLite. */
import { type Mutant, mutantsOf } from './mutant.ts'

/** The contract in memory, then what looks at more. */
const contract = [
  'engine/store/sqlite',
  'engine/store/read/hidden',
  'engine/store/sql/golden',
  'engine/store/sql/golden-more',
  'engine/store/store#SQLite',
]

/** The tests that detect mistakes in updates. */
const updates = [
  'engine/store/write/write',
  'engine/store/write/update-rule#SQLite',
  ...contract,
  'engine/store/write/documents#SQLite',
  'engine/store/log/changes#SQLite',
]

const shared: readonly Mutant[] = [
  ...mutantsOf(
    'engine/store/schema/sums',
    ['engine/computed/stored#SQLite'],
    [
      ['an unknown comparison is not false', '${constants[0]}) IS TRUE', '${constants[0]})'],
      ['a sum ends at a missing value', 'coalesce(${row}.${ident(add)}, 0)', '${row}.${ident(add)}'],
      ['a change of the added value is not noticed', '...(add === null ? [] : [add]), ', ''],
      ['a change of the condition’s fields is not noticed', ', ...columnsIn(where)', ''],
    ],
  ),
  ...mutantsOf(
    'engine/store/schema/diff',
    ['engine/store/stored-values.property'],
    [
      [
        'stored values are lost when the tables change',
        'isSame && (newSums.length === 0 || steps.every(step => step.surplus))',
        'isSame',
      ],
      ['a stored value counts as data', '!from.sums?.some(sum => sum.column === oldColumn.name)', 'true'],
    ],
  ),
  ...mutantsOf(
    'engine/plan/condition',
    ['engine/computed/stored#SQLite'],
    [
      [
        'an answer with a stored value does not depend on the related items',
        'dependencies.collections.add(computation.path.target.name)',
        'dependencies.fields.add(field.name)',
      ],
    ],
  ),
  ...mutantsOf(
    'base/cache',
    ['engine/store/read/answers', 'engine/store/read/anchors', 'base/cache'],
    [
      [
        'an entry with another stamp is found',
        'return entry?.stamp === stamp ? entry.value : undefined',
        'return entry?.value',
      ],
      [
        'a replaced entry counts twice',
        'this.#bound.add(this, weight - (replaced?.weight ?? 0))',
        'this.#bound.add(this, weight)',
      ],
      [
        'the old generation is never dropped',
        '    this.#old = this.#young\n    this.#young = new Map()\n',
        '',
      ],
      [
        'an entry that is read does not return to the young generation',
        'if (this.#bound.fits(entry.weight)) this.set',
        'if (false) this.set',
      ],
      ['growth does not count', '    if (young !== undefined) this.#bound.add(this, weight)\n', ''],
    ],
  ),
  ...mutantsOf(
    'engine/store/read/answers',
    ['engine/store/read/answers', 'engine/store/sqlite/memory'],
    [
      [
        'a personal answer is given to other users',
        'if (personal) return `${userId}:${JSON.stringify(args)}`',
        'if (personal) return JSON.stringify(args)',
      ],
      ['different numbers have the same key', 'return `${first},${second}`', 'return `${first}${second}`'],
      ['a text counts one byte per character', 'entryBytes + 2 * characters', 'entryBytes + characters'],
      ['the rendered form of an answer does not count', '    this.#cache.grow(key, rendered.bytes)\n', ''],
    ],
  ),
  ...mutantsOf(
    'engine/store/read/list-cache',
    ['engine/store/read/anchors', 'engine/store/sqlite/read/pages', 'engine/store/sqlite'],
    [
      ['one user’s list is given to another', 'this.#isPersonal ? [userId, others] : others', 'others'],
      [
        'all lists of a shape share one entry',
        'args.map((value, index) => (index === offset || index === limit ? null : value))',
        'args.map((value, index) => (index === offset || index === limit ? value : null))',
      ],
      [
        'a value found before a change is kept after it',
        'if (stamp === this.stamp) this.#lists.set',
        'this.#lists.set',
      ],
      ['totals are kept where answers are not', 'this.keepsTotals && total.total', 'total.total'],
      [
        'an anchor at the offset itself is not found',
        'this.#anchors[this.#index(offset + 1) - 1]',
        'this.#anchors[this.#index(offset) - 1]',
        'the previous anchor is used, which is slower and equally correct',
      ],
      [
        'an anchor after the offset is used',
        'this.#anchors[this.#index(offset + 1) - 1]',
        'this.#anchors[this.#index(offset + 1)]',
      ],
      [
        'anchors are not kept in order',
        'else this.#anchors.splice(index, 0, anchor)',
        'else this.#anchors.push(anchor)',
      ],
      [
        'anchors of a descending list survive new rows',
        'shape.sort[0]?.descending === false',
        'shape.sort[0]?.descending !== undefined',
      ],
      [
        'anchors of a filtered list survive changes',
        'isWholeById(shape) && ascending',
        'isById(shape) && ascending',
      ],
      [
        'a filtered list has the total of its collection',
        "return rows.kind === 'always' && within === undefined",
        'return within === undefined',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/read/pages',
    [
      'engine/store/sqlite/read/pages',
      'engine/store/postgres/read/pages',
      'engine/store/sqlite/read/slow-reads',
      ...contract,
    ],
    [
      [
        'a page from an anchor is returned although rows have moved',
        'if (isNewer && isOutdated) return',
        'if (false) return',
      ],
      [
        'a cached total is returned with rows of a later commit',
        'if (isNewer && total?.isEstimate === false) return',
        'if (false) return',
      ],
      [
        'the offset of an anchor is too low by one',
        'lists.addAnchor(key, stamp, offset, list.rows[0])',
        'lists.addAnchor(key, stamp, offset - 1, list.rows[0])',
      ],
      [
        'the anchor of the last row has the offset of the row after it',
        'lists.addAnchor(key, stamp, offset + pageRows.length, pageRows.at(-1))',
        'lists.addAnchor(key, stamp, offset + pageRows.length + 1, pageRows.at(-1))',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/read/batched',
    ['engine/store/sqlite/read/slow-reads', 'engine/store/store#PostgreSQL'],
    [
      [
        'the list of a missing parent is empty',
        'results.shift()?.length === 0',
        'results.shift()?.length === 9',
      ],
      ['an empty page with its total has an item', 'filter(([text]) => text !== null)', 'filter(() => true)'],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/read/searched-pages',
    ['engine/store/postgres/read/searched-pages'],
    [
      [
        'a page of a search walks past more rows than match',
        'const matchesPerWalkedRow = 8',
        'const matchesPerWalkedRow = 0.1',
      ],
      [
        'a page of a search is planned for each total',
        "${hidden({ from: 'total' })}",
        "${{ from: 'total' }}::bigint",
      ],
      [
        'a search starts from its index although another index yields few rows',
        'return isIndexed(collection, condition.field.field.name)',
        'return false',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/read/in-flight',
    ['engine/store/read/in-flight', 'engine/store/sqlite/read/slow-reads'],
    [
      [
        'an answer in flight is returned after a change',
        'return reads?.stamp === stamp ? reads.byCaller.get(caller) : undefined',
        'return reads?.byCaller.get(caller)',
      ],
      [
        'a read in flight is shared between callers',
        'return reads?.stamp === stamp ? reads.byCaller.get(caller) : undefined',
        'return reads?.stamp === stamp ? [...reads.byCaller.values()][0] : undefined',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/read/joined-reads',
    [
      'engine/store/read/in-flight',
      'engine/store/postgres/read/reader',
      'engine/store/write/races#PostgreSQL',
    ],
    [
      [
        'an answer in flight is returned after a change',
        'if (read?.stamp !== stamp) return undefined',
        'if (read === undefined) return undefined',
      ],
      ['callers who join are not counted', 'read.waitingCallers.join(caller)', ''],
    ],
  ),
  ...mutantsOf(
    'engine/store/sql/condition',
    ['server/serve/new-field-type#SQLite'],
    [['the values of a list are bound without encoding', 'value === null ? null : encode(value)', 'value']],
  ),
  ...mutantsOf(
    'engine/store/read/lists',
    ['engine/store/read/lists', ...contract],
    [
      [
        'a full last page has a next page',
        'rows.length > size ? rows[size - 1] : undefined',
        'rows.length >= size ? rows[size - 1] : undefined',
      ],
      [
        'the next page starts after the extra row',
        'rows.length > size ? rows[size - 1] : undefined',
        'rows.length > size ? rows[size] : undefined',
      ],
      [
        'a cursor contains a boolean as a number',
        'field.field.type.encoding.decode(value as StoredValue) ?? null',
        'value as StoredValue',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/versions',
    ['engine/store/read/lists'],
    [['only the last version counts', 'sum += version.value', 'sum = version.value']],
  ),
  ...mutantsOf(
    'engine/store/records',
    ['engine/store/records#SQLite'],
    [
      [
        'deleting a record does not increase the version',
        'kinds: rows.length > 0 ? [key.kind] : noKinds',
        'kinds: rows.length > 0 ? noKinds : [key.kind]',
      ],
      [
        'an expired record is found',
        '("expires_at" IS NULL OR "expires_at" > ${slot(0)})',
        '("expires_at" IS NULL OR "expires_at" > 0)',
      ],
      ['a record expires one millisecond late', '"expires_at" > ${slot(0)})', '"expires_at" >= ${slot(0)})'],
      ['a record is consumed twice', ' AND "consumed_at" IS NULL AND ', ' AND '],
      [
        'a swap replaces a payload that has changed',
        ' AND "payload" = ${slot(2)} RETURNING 1',
        ' RETURNING 1',
      ],
      ['an expired record blocks its id', '"expires_at" <= ${slot(0)}`', '"expires_at" < 0`'],
      [
        'deleting an owner’s records of one kind deletes those of all kinds',
        'WHERE "kind" = ${slot(0)} AND "owner" = ${slot(1)} RETURNING 1',
        'WHERE "owner" = ${slot(1)} AND ${slot(0)} <> \'\' RETURNING 1',
      ],
      ['replacing a record keeps its old expiry', ' "expires_at" = excluded."expires_at",', ''],
      ['replacing a record keeps its old owner', ', "owner" = excluded."owner"`', '`'],
      [
        'a batch starts with the last record of the previous one',
        '"id" > ${slot(2)} AND',
        '"id" >= ${slot(2)} AND',
      ],
    ],
  ),
  ...mutantsOf('engine/store/sql/condition', contract, [
    [
      'a hidden field can be filtered by',
      "  if (when.kind === 'always') return twoValued\n",
      '  if (when.kind !== undefined) return twoValued\n',
    ],
    [
      'under a negation an unknown comparison is not false',
      'const twoValued = exact && unknown ?',
      'const twoValued = exact && !unknown ?',
    ],
    [
      'a hidden field is distinguished from a null one',
      'return sql`${visibleSql(condition.field, row)} IS NULL`',
      'return sql`${row.column(condition.field.field.name)} IS NULL`',
      'only rules use it, and rules read the stored fields',
    ],
    [
      'a negation is not exact',
      'conditionSql(condition.part, row, true, form)',
      'conditionSql(condition.part, row, false, form)',
    ],
    [
      'an empty disjunction is true',
      "' OR ', isFalse)",
      "' OR ', isTrue)",
      'the guard never returns an empty disjunction',
    ],
    [
      'join rows of another item connect items',
      '    sql`${through.column(from)} = ${id}`,\n    conditionSql(joinRows, through),\n  ])',
      '    sql`${through.column(from)} = ${id}`,\n  ])',
    ],
  ]),
  ...mutantsOf(
    'engine/store/sql/keyset',
    [...contract, 'engine/store/read/indexes.property'],
    [
      [
        'a page in a mixed order starts with the row before it',
        'descending ? sql`${value} < ${positionValue}` : sql`${value} > ${positionValue}`\n  if',
        'descending ? sql`${value} <= ${positionValue}` : sql`${value} >= ${positionValue}`\n  if',
      ],
      [
        'a descending page omits null rows',
        'sql`(${value} < ${positionValue} OR (${value} IS NULL AND ${positionValue} IS NOT NULL))`',
        'sql`${value} < ${positionValue}`',
      ],
      [
        'an ascending page from a null row omits the others',
        'sql`(${value} > ${positionValue} OR (${value} IS NOT NULL AND ${positionValue} IS NULL))`',
        'sql`${value} > ${positionValue}`',
      ],
      ['a key that may be hidden counts as a plain column', 'isColumn: isColumn(field)', 'isColumn: true'],
      [
        'keys with different directions are compared as one row',
        'keys.every(key => !key.nullable && key.descending === keys[0]?.descending)',
        'keys.every(key => !key.nullable)',
      ],
      [
        'null rows are not a separate range',
        'return [strictly, fromNull, ...nextRanges(row.dialect.same(value, positionValue, field))]',
        'return [strictly, ...nextRanges(row.dialect.same(value, positionValue, field))]',
      ],
      [
        'nothing follows a null key',
        ': combined(sql`${value} IS NOT NULL`, sql`${positionValue} IS NULL`)',
        ': combined(sql`${value} IS NOT NULL`, sql`${positionValue} IS NOT NULL`)',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/sql/select',
    ['engine/store/read/hidden', 'engine/store/read/composite', ...contract],
    [
      [
        'a hidden field is returned',
        "return when.kind === 'always' ? json : sql`CASE WHEN ${conditionSql(when, row)} THEN ${json} END`",
        'return json',
      ],
      [
        'a hidden relation is followed',
        "return when.kind === 'always' ? query : sql`CASE WHEN ${conditionSql(when, row)} THEN ${query} END`",
        'return query',
      ],
      [
        'an unreadable related row is returned',
        'whereClause([linkCondition(path, target, row), conditionSql(rows, target)])\n',
        'whereClause([linkCondition(path, target, row)])\n',
      ],
      ['an item that an event refers to is assumed to exist', '    !row.isLogged &&\n', ''],
      [
        'a total counts unreadable rows',
        'const conditions = matching(target).filter(condition => condition !== isTrue)',
        'const conditions = matching(target).slice(0, 0)',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/sql/write',
    [
      'engine/store/read/hidden',
      'engine/store/write/write',
      ...contract,
      'engine/store/write/update-rule#SQLite',
    ],
    [
      [
        'the answer contains an unreadable item',
        "return rows.kind === 'always' ? text : sql`CASE WHEN ${conditionSql(rows, row)} THEN ${text} END`",
        'return text',
      ],
      [
        'the event log contains write-only values',
        '.filter(field => !field.internal && !field.writeOnly)',
        '.filter(field => !field.internal)',
      ],
      [
        'a field is reset in every row',
        '  if (when === undefined) return [slot(index)]\n',
        '  if (when !== undefined || stored) return [slot(index)]\n',
      ],
      [
        'a hidden field reveals whether its value is equal',
        'readableWhen === undefined ? same : sql`${same} AND ${conditionSql(readableWhen, row, true)}`',
        'same',
      ],
      [
        'a reference to an unreadable item is accepted',
        "whereClause([sql`${row.column('id')} = ${id}`, conditionSql(rows, row)])\n    // In",
        "whereClause([sql`${row.column('id')} = ${id}`])\n    // In",
      ],
    ],
  ),
]

const writes: readonly Mutant[] = [
  ...mutantsOf(
    'engine/store/write/create',
    [
      'engine/store/write/write',
      ...contract,
      'engine/store/read/composite',
      'engine/store/sqlite/write/writes',
      'engine/store/store#PostgreSQL',
    ],
    [
      [
        'the cardinality limit is not checked',
        '    if (limits !== undefined) yield* limits.require(id, inputs)\n',
        '',
      ],
      [
        'the checks of a create are ignored',
        '    requireChecks(after, result, positions.checks, shape)\n',
        '',
      ],
      ['a new row does not count', '    scope.count(name, 1)\n', ''],
      ['references are not checked', '      references.require(referenced)\n', ''],
      [
        'the search does not find a new row',
        'searchablePositions.map(position => slots[position]),',
        'searchablePositions.map(() => undefined),',
      ],
      [
        'checks on stored rows run before the INSERT',
        "case 'fact':\n      return false\n",
        "case 'fact':\n      return true\n",
      ],
      [
        'a rule on the created row is checked before it exists',
        ' &&\n    after.every(({ condition }) => isLocalCondition(condition))',
        '',
      ],
      [
        'related rows are selected before the row exists',
        'isLocalSelection(select) &&\n    isLocalCondition(rows)',
        'isLocalCondition(rows)',
      ],
      ['an answer with other fields reuses the event', '    select.length === fields.length &&\n', ''],
      [
        'an answer with hidden fields reuses the event',
        " &&\n        selected.field.when.kind === 'always',",
        ',',
      ],
    ],
  ),
  ...mutantsOf('engine/store/write/change', updates, [
    [
      'the search finds the previous words',
      'changed.some(({ field }) => field.searchable)',
      'changed.every(({ field }) => field.searchable)',
    ],
    [
      '`updated_at` alone counts as a change',
      "return changed.every(({ field }) => field.name === 'updated_at') ? [] : changed",
      'return changed',
    ],
  ]),
  ...mutantsOf(
    'engine/store/write/proposed',
    ['engine/store/write/proposed#SQLite'],
    [
      [
        'an item vouches for itself',
        'addCondition(condition, noDependencies()).collections.has(collection.name)',
        'false',
      ],
      [
        'a unique field that is taken is disclosed to everyone',
        'set.some(({ field }) => field.unique) ||',
        '',
      ],
      [
        'a unique index that is violated is disclosed to everyone',
        'unique && keys.some(',
        'false && keys.some(',
      ],
      [
        'the id of a new item is compared before it is known',
        'if (!comparesId(leaf)) return leaf',
        'if (leaf) return leaf',
      ],
    ],
  ),
  ...mutantsOf('engine/store/write/update', updates, [
    ['the changed row is not checked', '    requireChecks(shape.after, result, CHECKS, shape)\n', ''],
    [
      'an update without changes invalidates answers',
      'changed: changed.length > 0 ? changedCollections : none',
      'changed: changedCollections',
      'answers are read once more, and are the same',
    ],
    [
      'unchanged references must be valid',
      'references.require(referenceRows, effective.unchanged)',
      'references.require(referenceRows)',
    ],
    [
      'the names of write-only fields are listed as changed',
      'field }) => !field.internal && !field.writeOnly)',
      'field }) => !field.internal)',
    ],
    [
      'an update of a hidden item continues',
      'if (stored === undefined || stored[0] !== 1)',
      'if (stored === undefined)',
    ],
    [
      'the stored entity tag is not compared',
      '  if (ifMatch !== undefined) requireMatch(plan.args[ifMatch], stored[1])\n',
      '',
    ],
    [
      'a change of internal fields logs an event',
      'collection.unlogged || changed.every(({ field }) => field.internal)',
      'collection.unlogged',
    ],
    [
      'rules of unchanged fields are checked',
      'requireChecks(before, stored, STORED_CHECKS, shape, unchanged)',
      'requireChecks(before, stored, STORED_CHECKS, shape)',
    ],
  ]),
  ...mutantsOf(
    'engine/store/write/assign',
    ['engine/store/write/write'],
    [
      [
        'a required field is set to null',
        '!field.optional && values[index] === null && changes',
        '!field.optional && values[index] === undefined && changes',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/write/checks',
    ['engine/store/write/write'],
    [
      [
        'an unknown check counts as passed',
        'return row[firstColumn + index] !== 1 &&',
        'return row[firstColumn + index] === 0 &&',
      ],
      [
        'a part of an entity tag matches',
        'ifMatch.includes(entityTag(representation))',
        'String(ifMatch).includes(entityTag(representation))',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/write/checks',
    ['delivery/logic/data-writes#SQLite'],
    [['an item that has changed still matches', 'isDeepStrictEqual(value, item[name])', 'name in item']],
  ),
  ...mutantsOf(
    'engine/store/write/increments',
    ['delivery/logic/data-writes#SQLite'],
    [
      ['a bound of an increment is exclusive', 'value < min', 'value <= min'],
      [
        'an increment begins at 0',
        'before === null ? null : before + change.increment',
        '(before ?? 0) + change.increment',
      ],
      [
        'an increment beyond exact numbers is stored',
        'Math.abs(value) > Number.MAX_SAFE_INTEGER',
        'Math.abs(value) > Number.MAX_VALUE',
      ],
      [
        'an increment reveals a hidden number',
        'numbers.some(({ hidden }) => hidden)',
        'numbers.length === 0',
      ],
      [
        'an increment exceeds the bounds of its field',
        'requireDocuments(numbers.map(',
        'void requireDocuments, void (numbers.map(',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/write/documents',
    ['engine/store/write/write', 'engine/store/write/documents#SQLite'],
    [
      [
        'null is stored in a merged document',
        'if (value === null) Reflect.deleteProperty(merged, name)',
        'if (value === undefined) Reflect.deleteProperty(merged, name)',
      ],
      [
        'a patch that is no object becomes an empty document',
        'if (!isObject(patch)) return patch',
        'if (patch === null) return patch',
      ],
      [
        'the size of a merged document is not limited',
        'text.length > Math.max(before, maxDocumentLength) ? maxDocumentLength : undefined',
        'before > Math.max(text.length, maxDocumentLength) ? maxDocumentLength : undefined',
      ],
      [
        'merging into a hidden document counts as no change',
        'changed: hidden || text !== before',
        'changed: text !== before',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/write/removal/removal',
    ['engine/store/write/write', 'engine/store/write/removal#SQLite'],
    [
      [
        'a remaining row may lose its required reference',
        'cascadeSet.countOf(collection) + 1',
        'cascadeSet.countOf(collection)',
      ],
      [
        'references are cleared in rows that are deleted',
        'if (!cascadeSet.has({ collection: referrer.collection, id })) cleared.push',
        'cleared.push',
      ],
      [
        'a large cascade is not refused',
        'if (cascadeSet.items.length - 1 > maxItems) throw',
        'if (cascadeSet.items.length < 0) throw',
      ],
      [
        'a refused deletion names a hidden item',
        'answers[index]?.[0]?.[0] === 1',
        'answers[index] !== undefined',
      ],
      [
        'clearing references does not increase versions',
        '...removed, ...cleared.keys(), ...versions',
        '...removed, ...versions',
      ],
      [
        'a deleted user keeps its records',
        "({ collection }) => collection.name === 'users'",
        "({ collection }) => collection.name === 'user'",
      ],
      [
        'the event of a cleared reference contains the previous row',
        'rows[2 * index + 1]]',
        'rows[2 * index]]',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/write/removal/removal',
    ['delivery/logic/reading-checks'],
    [
      [
        'a refused clearing names a hidden item',
        'cause instanceof ClearingRefused && !isItemKnown ? unknownReferenceError(cause) : cause',
        'cause',
      ],
      [
        'a check that reads does not run where a reference is cleared',
        'for (const verify of changes.verifications) yield* verify()',
        '',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/write/committed-facts',
    ['api/events/as-committed', 'api/events/history'],
    [
      [
        'what earlier steps altered counts as known',
        'isEarlier(altering, steps[index]) ? null : facts',
        'facts',
      ],
      ['what later steps alter does not count', 'isLater(altering, steps[index]) ? final : facts', 'facts'],
    ],
  ),
  ...mutantsOf(
    'engine/store/write/limits',
    ['engine/store/sqlite/write/writes'],
    [
      [
        'one reference more than the limit is accepted',
        'countCheck(collection, limit, database)',
        'countCheck(collection, { ...limit, count: limit.count + 1 }, database)',
      ],
    ],
  ),
]

const sqlite: readonly Mutant[] = [
  ...mutantsOf(
    'engine/store/sqlite/write/commit',
    ['engine/store/sqlite/write/commit'],
    [
      [
        'an invalid reference refuses both writes of a group',
        'if (isForeignKeyFailure(cause) && batch.length > 1) {',
        'if (isForeignKeyFailure(cause) && batch.length > 2) {',
      ],
      [
        'one write more than the maximum may wait',
        'this.#waiting.length >= this.#options.maxWaiting',
        'this.#waiting.length > this.#options.maxWaiting',
      ],
      [
        'writes are answered before the commit',
        '      this.#connection.commit()\n',
        '      setImmediate(() => this.#connection.commit())\n',
      ],
      [
        'closing stores only the first thousand writes',
        'while (this.#waiting.length > 0) this.#commit',
        'if (this.#waiting.length > 0) this.#commit',
      ],
      [
        'a write waits for others forever',
        'return now - this.#collectingSince < this.#batchWaitMs',
        'return now - this.#collectingSince >= 0',
      ],
      ['the writer lock is not released', '    lock.release()\n', ''],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/write/batch-run',
    ['engine/store/sqlite/write/commit'],
    [
      [
        'the changes of a refused write stay',
        'if (this.#connection.changes !== changesBefore) {',
        'if (this.#connection.changes === changesBefore) {',
      ],
      [
        'a write whose statement failed is not rolled back',
        '      this.#connection.rollbackSavepoint()\n',
        '',
      ],
      [
        'a failing write without changes refuses its whole group',
        '        outcomes.push({ error: failureOf(cause) })\n',
        '        throw cause\n',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/write/commit',
    ['engine/store/sqlite/write/unconfirmed'],
    [
      [
        'the end of the log is not settled after a failed COMMIT',
        ' || this.#logTail.settle(cause, true)\n',
        '\n',
      ],
      [
        'a change that may have been stored is reported as refused',
        'isUndone ? error : unconfirmedWriteError(cause)',
        'error',
      ],
      [
        'a commit of refused writes alone proves that changes can be stored',
        "if (outcomes.some(outcome => 'value' in outcome)) this.#probes.recordCommit()",
        'this.#probes.recordCommit()',
      ],
      [
        'refused writes confirm that changes can be stored',
        "return outcomes.some(outcome => 'value' in outcome)\n",
        'return outcomes.length > 0\n',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/file/log-tail',
    ['engine/store/sqlite/write/unconfirmed'],
    [
      [
        'settling the end of the log is not repeated',
        '      this.#timer = setTimeout(this.#onDue, this.#pauseMs).unref()\n',
        '',
      ],
      ['after the disk has recovered, changes are still refused', '      this.#failure = undefined\n', ''],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/file/write-probes',
    ['engine/store/sqlite/file/probes', 'engine/store/sqlite/write/unconfirmed'],
    [
      [
        'while another process writes, this one counts as unable to write',
        '      if (isBusy(cause) && now - (this.#busySince ?? now) < maxBusyMs) return this.#trouble\n',
        '',
      ],
      [
        'another process that never stops writing is not detected',
        'this.#busySince ??= now',
        'this.#busySince = now',
      ],
      [
        'writes of another process hide a failing disk',
        '< maxBusyMs) return this.#trouble',
        '< maxBusyMs) return undefined',
      ],
      ['a busy database counts as busy until the process ends', '    this.#busySince = undefined\n', ''],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/file/checkpoints',
    ['engine/store/sqlite/write/unconfirmed#checkpoint|room'],
    [
      ['pages that may be lost count as stored', '    this.#pausedUntil = Number.POSITIVE_INFINITY\n', ''],
      ['the process is ended although nothing can be lost', ' || !this.#mayHaveCopied()', ''],
      ['a full disk ends the process', '!isSyncFailure(cause) || ', ''],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/reader-processes/fair-queue',
    ['engine/store/sqlite/reader-processes/pool'],
    [
      [
        'one caller uses every process',
        'if (jobs.running >= this.#options.maxRunningPerCaller) continue\n',
        '',
      ],
      ['one caller fills the queue', ' || jobs.waiting.length >= maxWaitingPerCaller', ''],
      [
        'an aborted read counts as waiting',
        '    jobs.waiting.splice(index, 1)\n    this.#waiting--\n',
        '    jobs.waiting.splice(index, 1)\n',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/reader-processes/pool',
    ['engine/store/sqlite/reader-processes/pool'],
    [
      [
        'a read past its deadline continues in its process',
        '      void job.process.kill()\n    }\n    this.#refuse',
        '    }\n    this.#refuse',
      ],
      ['a read whose process exits is never retried', 'const maxTries = 2', 'const maxTries = 1'],
      [
        'a read is retried forever',
        'cause instanceof ReaderLost && job.tries < maxTries',
        'cause instanceof ReaderLost',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/reader-processes/program',
    ['engine/store/sqlite/reader-processes/pool'],
    [
      ['a file that replaced the database is read', '    if (!isSame) throw', '    if (false) throw'],
      ['each query has its own snapshot', "    database.exec('BEGIN')\n", ''],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/read/pooled',
    ['engine/store/sqlite/read/slow-reads'],
    [['a page from an anchor that moved is returned', '      return !isCurrent()\n', '      return false\n']],
  ),
  ...mutantsOf(
    'engine/store/sqlite/read/route',
    ['engine/store/sqlite/read/slow-reads'],
    [
      [
        'whole tables are sorted on the event loop',
        "? 'pool' : 'budgeted')\n}",
        "? 'budgeted' : 'budgeted')\n}",
      ],
      ['every table is sorted in a process', 'rows() > wholeTableRows', 'rows() > 0'],
    ],
  ),
  ...mutantsOf(
    'engine/store/read/reader',
    ['engine/store/sqlite/write/writes', 'engine/store/postgres/read/reader', ...contract],
    [
      [
        'answers do not depend on the collections that they read',
        'const stamp = stampOf(reader.reads)',
        'const stamp = stampOf(reader.reads.slice(0, 0))',
      ],
      [
        'answers depend on the first collection only',
        'const stamp = stampOf(reader.reads)',
        'const stamp = stampOf(reader.reads.slice(0, 1))',
      ],
      [
        'the version is read when the answer arrives',
        'answers.set(key, stamp, answer)\n    return answer\n  })',
        'answers.set(key, stampOf([]), answer)\n    return answer\n  })',
      ],
      [
        'under row security an answer is not personal',
        'isPersonal: shape.personal || database.isPersonal',
        'isPersonal: shape.personal',
      ],
    ],
  ),
  ...mutantsOf('engine/store/sqlite/read/inline', contract, [
    [
      'the answer for a missing parent is an empty list',
      'parent.statement.get(parent.inputs) === undefined) return missing',
      'parent.statement.get(parent.inputs) === null) return missing',
    ],
  ]),
  ...mutantsOf(
    'engine/store/sqlite/write/database',
    ['engine/store/write/removal#SQLite'],
    [
      [
        'a cycle of rows cannot be deleted',
        'if (!isAlone) for (const { id, referrer } of again)',
        'if (items.length > 2) for (const { id, referrer } of again)',
      ],
      [
        'references stay unchecked after a deletion',
        '      if (!isAlone) this.#connection.deferReferences(false)\n',
        '',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/records',
    ['engine/store/records#SQLite'],
    [
      ['replacing a record does not increase the version', '        return true\n', '        return false\n'],
      [
        'the version ignores changes of other processes',
        '  version(kind: string): number {\n    this.#connection.hold()\n',
        '  version(kind: string): number {\n',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/log/event-log',
    ['engine/store/sqlite/log/events'],
    [
      [
        'after a full round, pruning pauses',
        '    if (prunable === undefined) this.#pause.begin(now, this.#pauseMs)\n  }\n',
        '    this.#pause.begin(now, this.#pauseMs)\n  }\n',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/log/pruning',
    ['engine/store/log/retention#SQLite'],
    [
      [
        'events are kept for a thousandth of the retention period',
        'new Date(now - maxAgeMs)',
        'new Date(now - maxAgeMs / 1000)',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/log/logged-change',
    ['engine/store/log/changes#SQLite'],
    [
      [
        'the last seen change is returned again',
        'FROM "_events" WHERE "id" > ${slot(0)} ORDER BY "id" LIMIT ${slot(1)} + 0`\n\n',
        'FROM "_events" WHERE "id" >= ${slot(0)} ORDER BY "id" LIMIT ${slot(1)} + 0`\n\n',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/sqlite/log/change-log',
    ['engine/store/log/changes#SQLite'],
    [
      [
        'a listener that has unsubscribed is notified',
        'return () => void this.#listeners.delete(listener)',
        'return () => void this.#listeners.has(listener)',
      ],
    ],
  ),
]

export const store: readonly Mutant[] = [...shared, ...writes, ...sqlite]
