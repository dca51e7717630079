/** PostgreSQL. */
import { type Mutant, mutantsOf } from './mutant.ts'

export const postgres: readonly Mutant[] = [
  ...mutantsOf(
    'engine/store/postgres/write/commit',
    ['engine/store/postgres/write/commit', 'engine/store/postgres/write/writer'],
    [
      [
        'closing does not wait for queued writes',
        'if (this.#lanes > 0 || this.#queues.count > 0) {',
        'if (this.#lanes > 0) {',
      ],
      [
        'closing does not wait for writes in flight',
        'if (this.#lanes > 0 || this.#queues.count > 0) {',
        'if (this.#queues.count > 0) {',
      ],
      [
        'one write more than the maximum may wait',
        'this.#queues.count >= this.#options.maxWaiting',
        'this.#queues.count > this.#options.maxWaiting',
      ],
      [
        'a write is accepted while the service stops',
        '    if (this.#isClosed) return stoppingRefusal()\n',
        '',
      ],
      [
        'a retryable group is refused',
        'if (!(cause instanceof RetryError) || tries >= maxGroupTries)',
        'if (!(cause instanceof RetryError) || tries > 0)',
      ],
      ['a connection is not returned', '    this.#connections.release(connection)\n', ''],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/write/lock-order',
    ['engine/store/postgres/write/order', 'engine/store/write/races#PostgreSQL'],
    [
      ['writes to one item run concurrently', '      last.set(key, current)\n', ''],
      [
        'deletions run concurrently with other writes',
        'if (runsAlone) alone.push(write)',
        'if (runsAlone) running.push(run(write))',
      ],
      [
        'keys are not ordered',
        "compareCodeUnits(left.job.key ?? '', right.job.key ?? '')",
        "Math.abs(compareCodeUnits(left.job.key ?? '', right.job.key ?? ''))",
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/write/lock-order',
    ['engine/store/postgres/write/group-locks'],
    [
      [
        'updates under limits share transactions',
        "if (shape.kind !== 'create') return isLimited(shape)",
        "if (shape.kind !== 'create') return false",
      ],
      [
        'creates under limits for each value of two fields share transactions',
        'shape.limits.flatMap(({ per }) => per ?? [])).size > 1',
        'shape.limits.flatMap(({ per }) => per ?? [])).size > 2',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/write/table-locks',
    ['engine/store/postgres/write/table-locks'],
    [
      [
        'a read locks as a deletion does',
        "this.#affectedBy('read', collection)",
        "this.#affectedBy('delete', collection)",
      ],
      [
        'an update locks as a deletion does',
        "this.#affectedBy('write', collection)",
        "this.#affectedBy('delete', collection)",
      ],
      [
        'a deletion does not claim the tables to which it cascades',
        "const use = kind === 'delete' ? 'delete' : 'write'",
        "const use: Use = 'write'",
      ],
      [
        'the tables that a rule reads are not locked',
        '  addTablesOfRule(access.read, collection, model, tables)\n',
        '',
      ],
      [
        'a deletion does not lock the tables to which it cascades',
        "const changed = use === 'delete' ? withCascades(collection, model) : new Set([collection])",
        'const changed = new Set([collection])',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/schema/postgres/ddl',
    ['engine/store/stored-values.property'],
    [
      [
        'policies hide items from the triggers of stored values',
        "PERFORM set_config(${setting}, 'on', true);",
        '',
      ],
      [
        'a caller acts as the service after a stored value changed',
        'PERFORM set_config(${setting}, caller, true);',
        '',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/write/group',
    ['engine/store/postgres/write/table-locks'],
    [
      [
        'writes of a group are checked before they lock their tables',
        '    for (const claim of claimsIn(group)) if (claim !== sumsLock) transaction.queue(claim)\n',
        '',
      ],
      [
        'writes with savepoints are checked before they lock their tables',
        '    for (const claim of job.claims ?? []) transaction.queue(claim)\n',
        '',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/write/transaction',
    ['engine/store/postgres/write/table-locks'],
    [
      [
        'writes of transactions that are not serial are checked before they lock their tables',
        '  for (const claim of claimsOf(plan)) scope.claim(claim)\n',
        '',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/write/transaction',
    ['engine/store/write/proposed#PostgreSQL'],
    [
      [
        'writes whose rules read each other run concurrently',
        'isLimited(shape) || dependsOnOthers(shape)',
        'isLimited(shape)',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/versions/lease',
    ['engine/store/postgres/versions/lease-rules', 'engine/store/postgres/versions/lease'],
    [
      [
        'a lease holds while commits are unanswered',
        'now < this.#expiresAt && this.#unanswered === 0',
        'now < this.#expiresAt',
      ],
      [
        'an invalidation during the check is ignored',
        'if (isAlone && invalidations === this.#invalidations)',
        'if (isAlone)',
      ],
      [
        'a lease starts when its answer arrives',
        'this.#expiresAt = sent + leaseMs',
        'this.#expiresAt = performance.now() + leaseMs',
      ],
      [
        'the lock of another node is ignored',
        'const isAlone = rows.every(',
        'const isAlone = rows.length === 0 || rows.some(',
      ],
      [
        'a new writer does not wait',
        'if (error === undefined && !isAdmitted) await wait(noticeMs)',
        'if (error === undefined && isAdmitted) await wait(noticeMs)',
      ],
      ['a commit with an unknown outcome does not end the lease', '      if (!isKnown) this.end()\n', ''],
      [
        'a session of another node counts as one of this node',
        'return node === this.#node && connections.has(Number(pid))',
        'return connections.has(Number(pid))',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/replicas/positions',
    ['engine/store/postgres/replicas/positions'],
    [
      [
        'a commit since the check was sent has a position',
        'if (this.#unsent.has(name) || this.#sent.has(name))',
        'if (this.#sent.has(name))',
      ],
      [
        'a commit that the running check will see has a position',
        'if (this.#unsent.has(name) || this.#sent.has(name))',
        'if (this.#unsent.has(name))',
      ],
      ['the earliest position counts', 'position = Math.max(position,', 'position = Math.min(position,'],
      [
        'the log of another server counts as the same',
        '  forget(): void {\n    this.#floor = Number.POSITIVE_INFINITY\n',
        '  forget(): void {\n',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/versions/checks',
    [
      'engine/store/postgres/versions/checks',
      'engine/store/write/races#PostgreSQL',
      'engine/store/read/stale.property#PostgreSQL',
    ],
    [
      [
        'own commits count as those of other nodes',
        'if (this.#ownCommits.delete(xid) || names',
        'if (names',
        'answers are read once more with the same result',
      ],
      ['a lost position in the log means no changes', '  if (isLost === 1) return undefined\n', ''],
      [
        'more commits than were read mean no changes',
        'return commits.length > maxCommits ? undefined :',
        'return commits.length > maxCommits ? [] :',
      ],
      [
        'a change of another node does not increase the version',
        '      this.#parts.versions.bump(names)\n    }\n',
        '    }\n',
      ],
      ['answers of another server stay valid', '    this.#isLost = true\n', ''],
      ['changes of other nodes are not reported', '    if (hasOtherCommits) onChange()\n', ''],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/records',
    ['engine/store/records#PostgreSQL'],
    [
      [
        'a text that PostgreSQL refuses is queried',
        "if (keys.some(key => String(key).includes('\\0'))) return []",
        '',
      ],
      [
        'replacing a record does not increase the version',
        'return rows?.[0]?.[0] !== 1',
        'return rows?.[0]?.[0] === 1',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/write/row-lock',
    ['engine/store/write/races#PostgreSQL'],
    [['a changed row is not locked', '${id}${locks[purpose]}`', '${id}`']],
  ),
  ...mutantsOf(
    'engine/store/postgres/write/group',
    [
      'engine/store/postgres/write/commit',
      'engine/store/postgres/write/writer',
      'engine/store/write/races#PostgreSQL',
    ],
    [
      [
        'a commit with an unknown outcome is retried',
        'if (failure instanceof ConnectionLost) throw unconfirmedWriteError(failure)',
        'if (failure instanceof ConnectionLost) throw new Again(failure)',
      ],
      ['a failing write undoes the other write of its group', '      transaction.queue(rollbackTo)\n', ''],
      [
        'a COMMIT answered with ROLLBACK counts as a success',
        "      if (transaction.tag !== 'COMMIT') throw unavailableError(transaction.failure)\n",
        '',
      ],
      [
        'the changes of a refused write stay',
        'mustRollBack ||= scope.hasChanged || !(cause instanceof ApiError)',
        'mustRollBack ||= !(cause instanceof ApiError)',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/connections/pool',
    ['engine/store/postgres/connections/pool'],
    [
      [
        'a read is retried forever',
        'if (isRepeatable && read.tries < this.#tries && !',
        'if (isRepeatable && !',
      ],
      [
        'one connection more than the maximum is opened',
        'size + this.#opening >= this.#options.size',
        'size + this.#opening > this.#options.size',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/read/read-queue',
    ['engine/store/postgres/connections/pool'],
    [
      [
        'one read more than the maximum may wait',
        'if (count >= this.#maxWaiting) return true',
        'if (count > this.#maxWaiting) return true',
      ],
      [
        'reads of locked tables are not counted as reads of their caller',
        'this.#waitingOf(caller) + others.waitingOf(caller)',
        'this.#waitingOf(caller)',
      ],
      ['a slow caller takes the last connection', '(next.length > 0 || isLast)', 'next.length > 0'],
      [
        'a caller takes the last connection before its reads count as slow',
        'isLast ? callersWith(this.#maxPipelinesOfCaller, countCallers(running)) : []',
        '[] as readonly string[]',
      ],
      [
        'the reads of a slow caller are sent with those of others',
        'this.#waiting.filter(isFree)',
        'this.#waiting',
      ],
      ['a read waits for busy connections forever', 'deadline <= now', 'deadline < 0'],
    ],
  ),
  ...mutantsOf(
    'engine/store/postgres/read/locked-reads',
    ['engine/store/postgres/read/locked-reads', 'engine/store/postgres/read/locked-table#read'],
    [
      ['a read of a locked table waits forever', 'deadline <= now', 'deadline < 0'],
      ['reads of locked tables use every connection', ' && this.#connections < this.#maxConnections', ''],
      [
        'reads of locked tables use the connections of other reads',
        'this.#suspects.set(table, now + stateMs)',
        'this.#suspects.set(table, stateMs)',
      ],
    ],
  ),
]
