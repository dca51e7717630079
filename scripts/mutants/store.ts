/** What both databases share, and SQLite. */
import { type Mutant, mutantsOf } from './mutant.ts'

/** The contract in memory, then what looks at more. */
const contract = [
  'store/sqlite',
  'store/read/hidden',
  'store/sql/golden',
  'store/sql/golden-more',
  'store/store#SQLite',
]

/** What notices mistakes in updates. */
const updates = [
  'store/write/write',
  'store/write/update-rule#SQLite',
  ...contract,
  'store/write/documents#SQLite',
  'store/log/changes#SQLite',
]

const shared: readonly Mutant[] = [
  ...mutantsOf(
    'cache',
    ['store/read/answers', 'store/read/anchors', 'cache'],
    [
      [
        'what was kept under another stamp is found',
        'return entry?.stamp === stamp ? entry.value : undefined',
        'return entry?.value',
      ],
      [
        'what is replaced counts twice',
        'this.#bound.add(this, weight - (replaced?.weight ?? 0))',
        'this.#bound.add(this, weight)',
      ],
      [
        'the older generation is never forgotten',
        '    this.#old = this.#young\n    this.#young = new Map()\n',
        '',
      ],
      [
        'what is asked for does not grow young again',
        'if (this.#bound.fits(entry.weight)) this.set',
        'if (false) this.set',
      ],
      ['growth does not count', '    if (young !== undefined) this.#bound.add(this, weight)\n', ''],
    ],
  ),
  ...mutantsOf(
    'store/read/answers',
    ['store/read/answers', 'store/sqlite/memory'],
    [
      [
        'a personal answer is given to others',
        'if (personal) return `${userId}:${JSON.stringify(args)}`',
        'if (personal) return JSON.stringify(args)',
      ],
      ['two numbers are one', 'return `${first},${second}`', 'return `${first}${second}`'],
      ['a text counts one byte a character', 'entryBytes + 2 * characters', 'entryBytes + characters'],
      ['what REST made of an answer does not count', '    this.#cache.grow(key, rendered.bytes)\n', ''],
    ],
  ),
  ...mutantsOf(
    'store/read/known-lists',
    ['store/read/anchors', 'store/sqlite/read/pages', 'store/sqlite'],
    [
      ['one user’s list is another’s', 'this.#isPersonal ? [userId, others] : others', 'others'],
      [
        'all lists of a shape are one',
        'args.map((value, index) => (index === offset || index === limit ? null : value))',
        'args.map((value, index) => (index === offset || index === limit ? value : null))',
      ],
      [
        'what was found before a change is kept after it',
        'if (stamp === this.stamp) this.#lists.set',
        'this.#lists.set',
      ],
      ['totals are kept where answers are not', 'this.keepsTotals && total.total', 'total.total'],
      [
        'the anchor at the offset itself is not found',
        'this.#anchors[this.#index(offset + 1) - 1]',
        'this.#anchors[this.#index(offset) - 1]',
        'the one before it is used, which is slower and as right',
      ],
      [
        'an anchor behind the offset is used',
        'this.#anchors[this.#index(offset + 1) - 1]',
        'this.#anchors[this.#index(offset + 1)]',
      ],
      [
        'anchors are not kept in order',
        'else this.#anchors.splice(at, 0, anchor)',
        'else this.#anchors.push(anchor)',
      ],
      [
        'anchors of a list that goes down outlive new rows',
        'shape.sort[0]?.descending === false',
        'shape.sort[0]?.descending !== undefined',
      ],
      [
        'anchors of a list of some rows outlive changes',
        'isWholeById(shape) && ascending',
        'isById(shape) && ascending',
      ],
      [
        'the total of a filtered list is that of the collection',
        "return rows.kind === 'always' && within === undefined",
        'return within === undefined',
      ],
    ],
  ),
  ...mutantsOf(
    'store/read/pages',
    ['store/sqlite/read/pages', 'store/postgres/read/pages', 'store/sqlite/read/slow-reads', ...contract],
    [
      [
        'a page from an anchor is taken though rows have moved',
        'if (isNewer && (from !== undefined || total !== undefined)) return',
        'if (false) return',
      ],
      [
        'a remembered total is given with rows of a later commit',
        'if (isNewer && total !== undefined) return',
        'if (false) return',
      ],
      [
        'an anchor is one row off',
        'lists.addAnchor(key, stamp, offset, list.rows[0])',
        'lists.addAnchor(key, stamp, offset - 1, list.rows[0])',
      ],
      [
        'an anchor is remembered for the first row after it',
        'lists.addAnchor(key, stamp, offset + shown.length, shown.at(-1))',
        'lists.addAnchor(key, stamp, offset + shown.length + 1, shown.at(-1))',
      ],
    ],
  ),
  ...mutantsOf(
    'store/read/batched',
    ['store/sqlite/read/slow-reads', 'store/store#PostgreSQL'],
    [
      [
        'a parent that is missing is an empty list',
        'results.shift()?.length === 0',
        'results.shift()?.length === 9',
      ],
    ],
  ),
  ...mutantsOf(
    'store/read/in-flight',
    ['store/postgres/read/reader', 'store/sqlite/read/slow-reads', 'store/write/races#PostgreSQL'],
    [
      [
        'an answer that is under way is given after a change',
        'return read?.stamp === stamp && read.caller === caller',
        'return read?.caller === caller',
      ],
      [
        'another caller waits in the first one’s name',
        'return read?.stamp === stamp && read.caller === caller',
        'return read?.stamp === stamp',
      ],
    ],
  ),
  ...mutantsOf(
    'store/sql/condition',
    ['serve/new-field-type#SQLite'],
    [['the values of a list are bound as JSON has them', 'value === null ? null : encode(value)', 'value']],
  ),
  ...mutantsOf(
    'store/read/lists',
    ['store/read/lists', ...contract],
    [
      [
        'a full last page has a next one',
        'rows.length > size ? rows[size - 1] : undefined',
        'rows.length >= size ? rows[size - 1] : undefined',
      ],
      [
        'the next page begins after the row that was looked ahead at',
        'rows.length > size ? rows[size - 1] : undefined',
        'rows.length > size ? rows[size] : undefined',
      ],
      [
        'a cursor carries a truth value as a number',
        'field.field.type.encoding.decode(value as Cell) ?? null',
        'value as Cell',
      ],
    ],
  ),
  ...mutantsOf(
    'store/versions',
    ['store/read/lists'],
    [['only the last version counts', 'sum += version.value', 'sum = version.value']],
  ),
  ...mutantsOf(
    'store/records',
    ['store/records#SQLite'],
    [
      [
        'what is deleted changes no version',
        'kinds: rows.length > 0 ? [key.kind] : none',
        'kinds: rows.length > 0 ? none : [key.kind]',
      ],
      [
        'a record whose time is over is found',
        '("expires_at" IS NULL OR "expires_at" > ${slot(0)})',
        '("expires_at" IS NULL OR "expires_at" > 0)',
      ],
      ['a record ends one millisecond late', '"expires_at" > ${slot(0)})', '"expires_at" >= ${slot(0)})'],
      ['a record is used up twice', ' AND "consumed_at" IS NULL AND ', ' AND '],
      ['a swap takes what changed meanwhile', ' AND "payload" = ${slot(2)} RETURNING 1', ' RETURNING 1'],
      ['a record whose time is over holds its id', '"expires_at" <= ${slot(0)}`', '"expires_at" < 0`'],
      [
        'what is deleted of an owner is of every kind',
        'WHERE "kind" = ${slot(0)} AND "owner" = ${slot(1)} RETURNING 1',
        'WHERE "owner" = ${slot(1)} AND ${slot(0)} <> \'\' RETURNING 1',
      ],
      ['a record that is put again keeps its old end', ' "expires_at" = excluded."expires_at",', ''],
      ['a record that is put again keeps its old owner', ', "owner" = excluded."owner"`', '`'],
      ['a part begins with the last of the one before', '"id" > ${slot(2)} AND', '"id" >= ${slot(2)} AND'],
    ],
  ),
  ...mutantsOf('store/sql/condition', contract, [
    [
      'a hidden field can be filtered by',
      "  if (when.kind === 'always') return twoValued\n",
      '  if (when.kind !== undefined) return twoValued\n',
    ],
    [
      'below a negation an unknown comparison is not false',
      'const twoValued = exact && unknown ?',
      'const twoValued = exact && !unknown ?',
    ],
    [
      'a hidden field that is missing is told',
      'return sql`${visible(condition.field, row)} IS NULL`',
      'return sql`${row.column(condition.field.field.name)} IS NULL`',
      'only rules ask so, and rules see fields as they are stored',
    ],
    [
      'a negation is not exact',
      'conditionSql(condition.condition, row, true, form)',
      'conditionSql(condition.condition, row, false, form)',
    ],
    [
      'an empty choice is true',
      "' OR ', isFalse, row",
      "' OR ', isTrue, row",
      'the guard makes no empty choice',
    ],
    [
      'join rows of the other side lead somewhere',
      '    sql`${through.column(from)} = ${id}`,\n    conditionSql(joinRows, through),\n  ])',
      '    sql`${through.column(from)} = ${id}`,\n  ])',
    ],
  ]),
  ...mutantsOf(
    'store/sql/keyset',
    [...contract, 'store/read/indexes.property'],
    [
      [
        'a page of mixed directions begins with the row before',
        'descending ? sql`${value} < ${at}` : sql`${value} > ${at}`\n  if',
        'descending ? sql`${value} <= ${at}` : sql`${value} >= ${at}`\n  if',
      ],
      [
        'rows without a value are left out going down',
        'sql`(${value} < ${at} OR (${value} IS NULL AND ${at} IS NOT NULL))`',
        'sql`${value} < ${at}`',
      ],
      [
        'rows after those without a value are left out',
        'sql`(${value} > ${at} OR (${value} IS NOT NULL AND ${at} IS NULL))`',
        'sql`${value} > ${at}`',
      ],
      ['a hidden key is taken for one that is always there', 'isColumn: isColumn(field)', 'isColumn: true'],
      [
        'directions need not be the same to be compared together',
        'keys.every(key => !key.nullable && key.descending === keys[0]?.descending)',
        'keys.every(key => !key.nullable)',
      ],
      [
        'rows without a value are no range of their own',
        'return [strictly, fromNull, ...within(row.dialect.same(value, at, field))]',
        'return [strictly, ...within(row.dialect.same(value, at, field))]',
      ],
      [
        'beyond no value there is nothing',
        ': held(sql`${value} IS NOT NULL`, sql`${at} IS NULL`)',
        ': held(sql`${value} IS NOT NULL`, sql`${at} IS NOT NULL`)',
      ],
    ],
  ),
  ...mutantsOf(
    'store/sql/select',
    ['store/read/hidden', 'store/read/composite', ...contract],
    [
      [
        'a hidden field is shown',
        "return when.kind === 'always' ? json : sql`CASE WHEN ${conditionSql(when, row)} THEN ${json} END`",
        'return json',
      ],
      [
        'a hidden link is followed',
        "return when.kind === 'always' ? query : sql`CASE WHEN ${conditionSql(when, row)} THEN ${query} END`",
        'return query',
      ],
      [
        'a related row that may not be read is shown',
        'where([linked(path, target, row), conditionSql(rows, target)])\n',
        'where([linked(path, target, row)])\n',
      ],
      ['what an event refers to is taken for there', '    !row.isLogged &&\n', ''],
      [
        'a total counts rows that may not be read',
        'const conditions = matching(target).filter(each => each !== isTrue)',
        'const conditions = matching(target).slice(0, 0)',
      ],
    ],
  ),
  ...mutantsOf(
    'store/sql/write',
    ['store/read/hidden', 'store/write/write', ...contract, 'store/write/update-rule#SQLite'],
    [
      [
        'the answer shows an item that may not be read',
        "return rows.kind === 'always' ? text : sql`CASE WHEN ${conditionSql(rows, row)} THEN ${text} END`",
        'return text',
      ],
      [
        'the event log keeps what is write-only',
        '.filter(field => !field.internal && !field.writeOnly)',
        '.filter(field => !field.internal)',
      ],
      [
        'what is reset is reset in every row',
        '  if (when === undefined) return [slot(index)]\n',
        '  if (when !== undefined || stored) return [slot(index)]\n',
      ],
      [
        'a field that is hidden tells whether it is the same',
        'seen === undefined ? same : sql`${same} AND ${conditionSql(seen, row, true)}`',
        'same',
      ],
      [
        'a reference to what may not be read is taken',
        "where([sql`${row.column('id')} = ${id}`, conditionSql(rows, row)])\n    // In",
        "where([sql`${row.column('id')} = ${id}`])\n    // In",
      ],
    ],
  ),
]

const writes: readonly Mutant[] = [
  ...mutantsOf(
    'store/write/create',
    [
      'store/write/write',
      ...contract,
      'store/read/composite',
      'store/sqlite/write/writes',
      'store/store#PostgreSQL',
    ],
    [
      [
        'the cardinality limit is not looked at',
        '    if (limits !== undefined) yield* limits.require(id)\n',
        '',
      ],
      [
        'the checks of a create are not asked',
        '    requireChecks(after, result, places.checks, shape)\n',
        '',
      ],
      ['a new row does not count', '    scope.count(name, 1)\n', ''],
      ['references are not looked at', '      references.require(referenced)\n', ''],
      [
        'a new row cannot be found by its words',
        'indexed.map(at => slots[at]),',
        'indexed.map(() => undefined),',
      ],
      [
        'checks that look at the row are asked before it is there',
        "    case 'related':\n    case 'values':\n    case 'search':\n      return false\n",
        "    case 'related':\n    case 'values':\n    case 'search':\n      return true\n",
      ],
      [
        'a rule over what a create became is asked at once',
        ' && after.every(({ condition }) => isOwn(condition))',
        '',
      ],
      [
        'related rows are selected before the row is there',
        'return isAlone(select) && isOwn(rows)',
        'return isOwn(rows)',
      ],
      ['an answer of other fields is the event', '    select.length === fields.length &&\n', ''],
      [
        'an answer in which fields are hidden is the event',
        " &&\n        selected.field.when.kind === 'always',",
        ',',
      ],
    ],
  ),
  ...mutantsOf('store/write/change', updates, [
    [
      'search finds the words of before',
      'changed.some(({ field }) => field.searchable)',
      'changed.every(({ field }) => field.searchable)',
    ],
    [
      '`updated_at` alone is a change',
      "return changed.every(({ field }) => field.name === 'updated_at') ? [] : changed",
      'return changed',
    ],
  ]),
  ...mutantsOf('store/write/update', updates, [
    ['the changed row is not checked', '    requireChecks(shape.after, result, CHECKS, shape)\n', ''],
    [
      'an update that changes nothing makes answers stale',
      'changed: changed.length > 0 ? touched : none',
      'changed: touched',
      'answers are read once more, and are the same',
    ],
    [
      'references that stay as they are must lead somewhere',
      'references.require(referenced, decided.unchanged)',
      'references.require(referenced)',
    ],
    [
      'write-only names are told as changed',
      'field }) => !field.internal && !field.writeOnly)',
      'field }) => !field.internal)',
    ],
    [
      'an update of what is hidden goes on',
      'if (stored === undefined || stored[0] !== 1)',
      'if (stored === undefined)',
    ],
    [
      'the stored state is not compared',
      '  if (ifMatch !== undefined) requireMatch(plan.args[ifMatch], stored[1])\n',
      '',
    ],
    [
      'what is internal leaves an event',
      'collection.unlogged || changed.every(({ field }) => field.internal)',
      'collection.unlogged',
    ],
    [
      'a rule is asked of fields that stay as they are',
      'requireChecks(before, stored, STORED_CHECKS, shape, unchanged)',
      'requireChecks(before, stored, STORED_CHECKS, shape)',
    ],
  ]),
  ...mutantsOf(
    'store/write/assign',
    ['store/write/write'],
    [
      [
        'a required field is emptied',
        '!field.optional && values[index] === null && changes',
        '!field.optional && values[index] === undefined && changes',
      ],
    ],
  ),
  ...mutantsOf(
    'store/write/checks',
    ['store/write/write'],
    [
      [
        'a check that is unknown counts as fulfilled',
        'return row[at + index] !== 1 &&',
        'return row[at + index] === 0 &&',
      ],
      [
        'a tag that is part of another matches',
        '!Array.isArray(wanted) || !wanted.includes(tag)',
        '!String(wanted).includes(tag)',
      ],
    ],
  ),
  ...mutantsOf(
    'store/write/documents',
    ['store/write/write', 'store/write/documents#SQLite'],
    [
      [
        'null is stored in a merged document',
        'if (value === null) merged.delete(name)',
        'if (value === undefined) merged.delete(name)',
      ],
      [
        'a patch of a text makes an empty document of it',
        'if (!isObject(patch)) return patch',
        'if (patch === null) return patch',
      ],
      [
        'a document that is merged may grow without end',
        'text.length > Math.max(before, maxDocumentLength) ? maxDocumentLength : undefined',
        'before > Math.max(text.length, maxDocumentLength) ? maxDocumentLength : undefined',
      ],
      [
        'what is hidden is merged as if it did not change',
        'changed: hidden || text !== before',
        'changed: text !== before',
      ],
    ],
  ),
  ...mutantsOf(
    'store/write/removal',
    ['store/write/write', 'store/write/removal#SQLite'],
    [
      [
        'a row that stays may lose what it must refer to',
        'cascadeSet.countOf(collection) + 1',
        'cascadeSet.countOf(collection)',
      ],
      [
        'a reference is cleared in rows that go',
        '      return items.filter(item => !cascadeSet.has(item))\n',
        '      return items\n',
      ],
      [
        'a ring of rows is walked for ever',
        'if (cascadeSet.add(item)) level.push(item)\n',
        'cascadeSet.add(item)\n          if (level.length < 1000) level.push(item)\n',
      ],
      [
        'the versions of cleared references do not grow',
        '...removed, ...cleared.keys(), ...versions',
        '...removed, ...versions',
      ],
      [
        'a deleted user keeps its records',
        "({ collection }) => collection.name === 'users'",
        "({ collection }) => collection.name === 'user'",
      ],
      ['the event of a cleared reference is that of the row before', 'states[2 * at + 1]', 'states[2 * at]'],
    ],
  ),
  ...mutantsOf(
    'store/write/cardinality-limit',
    ['store/sqlite/write/writes'],
    [
      [
        'one more may refer to an item than the limit says',
        'statementsOf(collection, limit, database)',
        'statementsOf(collection, { ...limit, count: limit.count + 1 }, database)',
      ],
    ],
  ),
]

const sqlite: readonly Mutant[] = [
  ...mutantsOf(
    'store/sqlite/write/commit',
    ['store/sqlite/write/commit'],
    [
      [
        'of two writes one’s reference refuses both',
        'if (isForeignKeyFailure(cause) && batch.length > 1) {',
        'if (isForeignKeyFailure(cause) && batch.length > 2) {',
      ],
      [
        'what a refused write had changed stays',
        'if (this.#connection.changes !== before) {',
        'if (this.#connection.changes === before) {',
      ],
      [
        'one more waits than may',
        'this.#waiting.length >= this.#options.maxWaiting',
        'this.#waiting.length > this.#options.maxWaiting',
      ],
      [
        'writes are answered before the commit',
        '      this.#connection.commit()\n',
        '      setImmediate(() => this.#connection.commit())\n',
      ],
      [
        'what closing flushes leaves all but the first thousand',
        'while (this.#waiting.length > 0) this.#commit',
        'if (this.#waiting.length > 0) this.#commit',
      ],
      [
        'a write waits for others for ever',
        'return now - this.#seenSince < this.#patienceMs',
        'return now - this.#seenSince >= 0',
      ],
      [
        'a write whose statement failed is not rolled back',
        '      this.#connection.rollbackSavepoint()\n',
        '',
      ],
      ['the lock of writers is kept', '    lock.release()\n', ''],
      [
        'a write that changes nothing and fails refuses its whole group',
        '        outcomes.push({ error: failureOf(cause) })\n',
        '        throw cause\n',
      ],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/write/commit',
    ['store/sqlite/write/unconfirmed'],
    [
      [
        'after a COMMIT that failed the end of the log is not settled',
        ' || this.#tail.settle(cause, true)\n',
        '\n',
      ],
      [
        'a change that may have been stored is said to be refused',
        'isUndone ? error : unconfirmed(cause)',
        'error',
      ],
      [
        'a commit of refusals alone proves that changes can be stored',
        "if (outcomes.some(outcome => 'value' in outcome)) this.#probes.stored()",
        'this.#probes.stored()',
      ],
      [
        'whoever asks is told by refusals that changes can be stored',
        "return outcomes.some(outcome => 'value' in outcome)\n",
        'return outcomes.length > 0\n',
      ],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/file/log-tail',
    ['store/sqlite/write/unconfirmed'],
    [
      [
        'the end of the log is settled once or never',
        '      this.#timer = setTimeout(this.#onDue, this.#pauseMs).unref()\n',
        '',
      ],
      ['a service whose disk has recovered refuses all changes', '      this.#failure = undefined\n', ''],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/file/write-probes',
    ['store/sqlite/file/probes', 'store/sqlite/write/unconfirmed'],
    [
      [
        'another process that writes makes this one look as if it could not',
        '      if (isBusy(cause) && now - (this.#busySince ?? now) < maxBusyMs) return this.#trouble\n',
        '',
      ],
      [
        'another process that never stops writing is not noticed',
        'this.#busySince ??= now',
        'this.#busySince = now',
      ],
      [
        'another process that writes hides a disk that fails',
        '< maxBusyMs) return this.#trouble',
        '< maxBusyMs) return undefined',
      ],
      ['what was busy once counts until the end', '    this.#busySince = undefined\n', ''],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/file/checkpoints',
    ['store/sqlite/write/unconfirmed#checkpoint|room'],
    [
      [
        'pages that may be lost are taken for stored',
        '    this.#pausedUntil = Number.POSITIVE_INFINITY\n',
        '',
      ],
      ['the process is told to end where nothing can be lost', ' || !this.#mayHaveCopied()', ''],
      ['a full disk ends the process', '!isSyncFailure(cause) || ', ''],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/reader-processes/fair-queue',
    ['store/sqlite/reader-processes/pool'],
    [
      [
        'one caller has every process',
        'if (jobs.running >= this.#options.maxRunningOfCaller) continue\n',
        '',
      ],
      ['one caller fills the queue', ' || jobs.waiting.length >= maxOfCaller', ''],
      [
        'what is over counts as waiting',
        '    jobs.waiting.splice(at, 1)\n    this.#waiting--\n',
        '    jobs.waiting.splice(at, 1)\n',
      ],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/reader-processes/pool',
    ['store/sqlite/reader-processes/pool'],
    [
      [
        'a late read goes on in its process',
        '      void job.process.kill()\n    }\n    this.#refuse',
        '    }\n    this.#refuse',
      ],
      ['a read whose process ends is never tried again', 'const maxTries = 2', 'const maxTries = 1'],
      [
        'a read is tried without end',
        'cause instanceof ReaderLost && job.tries < maxTries',
        'cause instanceof ReaderLost',
      ],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/reader-processes/program',
    ['store/sqlite/reader-processes/pool'],
    [
      ['another file is read', '    if (!isSame) throw', '    if (false) throw'],
      ['each query has a snapshot of its own', "    database.exec('BEGIN')\n", ''],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/read/pooled',
    ['store/sqlite/read/slow-reads'],
    [
      [
        'a page after an anchor that moved is answered',
        '      return !isCurrent()\n',
        '      return false\n',
      ],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/read/route',
    ['store/sqlite/read/slow-reads'],
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
    'store/read/reader',
    ['store/sqlite/write/writes', 'store/postgres/read/reader', ...contract],
    [
      [
        'answers do not depend on what they were read from',
        'const stamp = stampOf(reader.reads)',
        'const stamp = stampOf(reader.reads.slice(0, 0))',
      ],
      [
        'answers depend on the first collection only',
        'const stamp = stampOf(reader.reads)',
        'const stamp = stampOf(reader.reads.slice(0, 1))',
      ],
      [
        'the version is taken when the answer comes',
        'answers.set(key, stamp, answer)\n    return answer\n  })',
        'answers.set(key, stampOf([]), answer)\n    return answer\n  })',
      ],
      [
        'with row security an answer is not personal',
        'isPersonal: shape.personal || database.isPersonal',
        'isPersonal: shape.personal',
      ],
    ],
  ),
  ...mutantsOf('store/sqlite/read/inline', contract, [
    [
      'the answer about an absent parent is an empty list',
      'parent.statement.get(parent.inputs) === undefined) return missing',
      'parent.statement.get(parent.inputs) === null) return missing',
    ],
  ]),
  ...mutantsOf(
    'store/sqlite/write/database',
    ['store/write/removal#SQLite'],
    [
      [
        'a ring of rows cannot be deleted',
        'if (!isAlone) for (const { id, referrer } of again)',
        'if (items.length > 2) for (const { id, referrer } of again)',
      ],
      [
        'references stay unchecked after a removal',
        '      if (!isAlone) this.#connection.deferReferences(false)\n',
        '',
      ],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/records',
    ['store/records#SQLite'],
    [
      ['a record that is replaced changes no version', '        return true\n', '        return false\n'],
      [
        'the version does not see other processes’ changes',
        '  version(kind: string): number {\n    this.#connection.hold()\n',
        '  version(kind: string): number {\n',
      ],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/log/event-log',
    ['store/sqlite/log/events'],
    [
      [
        'after a full round nothing is pruned for a while',
        'this.#nextPrune = prunable === undefined ? now + this.#pauseMs : now',
        'this.#nextPrune = now + this.#pauseMs',
      ],
    ],
  ),
  ...mutantsOf(
    'store/log/pruning',
    ['store/log/retention#SQLite'],
    [
      [
        'seconds for milliseconds in how long events are kept',
        'new Date(now - keptMs)',
        'new Date(now - keptMs / 1000)',
      ],
    ],
  ),
  ...mutantsOf(
    'store/log/logged-change',
    ['store/log/changes#SQLite'],
    [
      [
        'the last change that was seen is told again',
        'FROM "_events" WHERE "id" > ${slot(0)} ORDER BY "id" LIMIT ${slot(1)} + 0`\n\n',
        'FROM "_events" WHERE "id" >= ${slot(0)} ORDER BY "id" LIMIT ${slot(1)} + 0`\n\n',
      ],
    ],
  ),
  ...mutantsOf(
    'store/sqlite/log/change-log',
    ['store/log/changes#SQLite'],
    [
      [
        'a listener that has left is told',
        'return () => void this.#listeners.delete(listener)',
        'return () => void this.#listeners.has(listener)',
      ],
    ],
  ),
]

export const store: readonly Mutant[] = [...shared, ...writes, ...sqlite]
