/** PostgreSQL. */
import { type Mutant, mutantsOf } from './mutant.ts'

export const postgres: readonly Mutant[] = [
  ...mutantsOf(
    'store/postgres/write/commit',
    ['store/postgres/write/commit', 'store/postgres/write/writer'],
    [
      [
        'closing does not wait for writes that wait',
        'if (this.#lanes > 0 || this.#queues.count > 0) {',
        'if (this.#lanes > 0) {',
      ],
      [
        'closing does not wait for writes that are under way',
        'if (this.#lanes > 0 || this.#queues.count > 0) {',
        'if (this.#queues.count > 0) {',
      ],
      [
        'one more waits than may',
        'this.#queues.count >= this.#options.maxWaiting',
        'this.#queues.count > this.#options.maxWaiting',
      ],
      ['a write is taken while the service stops', '    if (this.#isClosed) return stoppingRefusal()\n', ''],
      [
        'a group is tried once more than is said',
        'tries >= maxGroupTries',
        'tries > maxGroupTries',
        'five tries or six: nobody counts them',
      ],
      [
        'a group that may be done again is refused',
        'if (!(cause instanceof Again) || tries >= maxGroupTries)',
        'if (!(cause instanceof Again) || tries > 0)',
      ],
      ['a connection is not given back', '    this.#connections.giveBack(connection)\n', ''],
    ],
  ),
  ...mutantsOf(
    'store/postgres/write/lock-order',
    ['store/postgres/write/order', 'store/write/races#PostgreSQL'],
    [
      ['writes of one item are done side by side', '      last.set(key, ended)\n', ''],
      [
        'deletions are done beside the others',
        'if (isAlone) alone.push(waiting)',
        'if (isAlone) running.push(run(waiting))',
      ],
      [
        'keys are in no order',
        'one < other ? -1 : one > other ? 1 : 0',
        'one < other ? 1 : one > other ? 1 : 0',
      ],
    ],
  ),
  ...mutantsOf(
    'store/postgres/versions/lease',
    ['store/postgres/versions/lease-rules', 'store/postgres/versions/lease'],
    [
      [
        'a lease holds while commits are unanswered',
        'now < this.#until && this.#unanswered === 0',
        'now < this.#until',
      ],
      [
        'a doubt that came meanwhile does not count',
        'if (isAlone && doubts === this.#doubts)',
        'if (isAlone)',
      ],
      [
        'a lease begins when its answer comes',
        'this.#until = sent + leaseMs',
        'this.#until = performance.now() + leaseMs',
      ],
      [
        'another node’s lock does not count',
        'const isAlone = rows.every(',
        'const isAlone = rows.length === 0 || rows.some(',
      ],
      [
        'whoever means to write does not wait',
        'if (error === undefined && !isSpokenFor) await wait(noticeMs)',
        'if (error === undefined && isSpokenFor) await wait(noticeMs)',
      ],
      ['a commit whose outcome nobody knows leaves the lease', '      if (!isKnown) this.end()\n', ''],
      [
        'a session of another server is taken for this node’s',
        'return node === this.#node && connections.has(Number(pid))',
        'return connections.has(Number(pid))',
      ],
    ],
  ),
  ...mutantsOf(
    'store/postgres/replicas/positions',
    ['store/postgres/replicas/positions'],
    [
      [
        'what was committed since the check was sent has a place',
        'if (this.#unplaced.has(name) || this.#sent.has(name))',
        'if (this.#sent.has(name))',
      ],
      [
        'what a check under way will see has a place',
        'if (this.#unplaced.has(name) || this.#sent.has(name))',
        'if (this.#unplaced.has(name))',
      ],
      ['the earliest place counts', 'place = Math.max(place,', 'place = Math.min(place,'],
      [
        'another server’s log is taken for the same',
        '  forget(): void {\n    this.#floor = Number.POSITIVE_INFINITY\n',
        '  forget(): void {\n',
      ],
    ],
  ),
  ...mutantsOf(
    'store/postgres/versions/checks',
    [
      'store/postgres/versions/checks',
      'store/write/races#PostgreSQL',
      'store/read/stale.property#PostgreSQL',
    ],
    [
      [
        'a node’s own commits count as others’',
        'if (this.#own.delete(xid) || names',
        'if (names',
        'answers are read once more, and are the same',
      ],
      ['a lost place in the log is nothing', '  if (isLost === 1) return undefined\n', ''],
      [
        'more commits than were read are none',
        'return commits.length > maxCommits ? undefined :',
        'return commits.length > maxCommits ? [] :',
      ],
      [
        'what another node changed is not counted',
        '      this.#parts.versions.bump(names)\n    }\n',
        '    }\n',
      ],
      ['another server’s answers are the same', '    this.#isLost = true\n', ''],
      ['nobody hears of others’ changes', '    if (others) onChange()\n', ''],
    ],
  ),
  ...mutantsOf(
    'store/postgres/records',
    ['store/records#PostgreSQL'],
    [
      [
        'a text that PostgreSQL refuses is asked for',
        "if (keys.some(key => String(key).includes('\\0'))) return []",
        '',
      ],
      [
        'a record that is replaced changes no version',
        'return rows?.[0]?.[0] !== 1',
        'return rows?.[0]?.[0] === 1',
      ],
    ],
  ),
  ...mutantsOf(
    'store/write/row-lock',
    ['store/write/races#PostgreSQL'],
    [['a row that is changed is not locked', '${id}${locks[purpose]}`', '${id}`']],
  ),
  ...mutantsOf(
    'store/postgres/write/group',
    ['store/postgres/write/commit', 'store/postgres/write/writer', 'store/write/races#PostgreSQL'],
    [
      [
        'a commit whose outcome nobody knows is tried again',
        'if (failure instanceof ConnectionLost) throw unconfirmed(failure)',
        'if (failure instanceof ConnectionLost) throw new Again(failure)',
      ],
      ['of two writes in a group one’s fault undoes both', '      transaction.queue(rollbackTo)\n', ''],
      [
        'a COMMIT that was a ROLLBACK is a success',
        "      if (transaction.tag !== 'COMMIT') throw unavailable(transaction.failure)\n",
        '',
      ],
      [
        'what a refused write had changed stays',
        'undone ||= scope.hasChanged || !(cause instanceof ApiError)',
        'undone ||= !(cause instanceof ApiError)',
      ],
    ],
  ),
  ...mutantsOf(
    'store/postgres/connections/pool',
    ['store/postgres/connections/pool'],
    [
      [
        'a read is asked again for ever',
        'if (isRepeatable && read.tries < this.#tries && !',
        'if (isRepeatable && !',
      ],
      [
        'one more waits than may',
        'this.#waiting.length + this.#locked.waiting >= this.#options.maxWaiting',
        'this.#waiting.length + this.#locked.waiting > this.#options.maxWaiting',
      ],
      [
        'one more connection is opened than may',
        'size + this.#opening >= this.#options.size',
        'size + this.#opening > this.#options.size',
      ],
    ],
  ),
  ...mutantsOf(
    'store/postgres/read/locked-reads',
    ['store/postgres/read/locked-reads', 'store/postgres/read/locked-table#read'],
    [
      ['a read of a locked table waits for ever', 'lockDeadline <= now', 'lockDeadline < 0'],
      ['reads of a locked table take every connection', ' && this.#connections < this.#maxConnections', ''],
      [
        'reads of a locked table are asked among the others',
        'this.#suspects.set(table, now + stateMs)',
        'this.#suspects.set(table, stateMs)',
      ],
    ],
  ),
]
