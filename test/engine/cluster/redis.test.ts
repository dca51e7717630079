/** Nodes that share a real Redis server, which is killed, emptied, paused, slow or read-only. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Budget, Cluster } from '../../../src/engine/cluster/cluster.ts'
import { memoryCounters } from '../../../src/engine/cluster/memory-counters.ts'
import { type RedisClusterOptions, redisCluster } from '../../../src/engine/cluster/redis-cluster.ts'
import { RedisConnection, redisOptions } from '../../../src/engine/cluster/redis-connection.ts'
import { RedisServer } from '../../setups/databases/redis.ts'

/** A window that does not end during a test. */
const longWindowSeconds = 1_000_000_000
/** A timeout that is not reached on a busy machine, for exact counts. */
const longTimeoutMs = 10_000

interface Node {
  readonly cluster: Cluster
  /** The reported losses and recoveries of the connection. */
  readonly reports: string[]
}

async function openNode(url: string, overrides: Partial<RedisClusterOptions> = {}): Promise<Node> {
  const reports: string[] = []
  const cluster = await redisCluster({
    url,
    prefix: 'test:',
    timeoutMs: longTimeoutMs,
    onLost: reason => reports.push(`lost: ${reason}`),
    onBack: () => reports.push('back'),
    ...overrides,
  })
  return { cluster, reports }
}

interface Fixture {
  readonly server: RedisServer
  readonly nodes: readonly Node[]
  readonly admin: Redis
}

/** Runs `use` with three nodes on one Redis server. */
async function withNodes(
  use: (fixture: Fixture) => Promise<void>,
  overrides: Partial<RedisClusterOptions> = {},
): Promise<void> {
  const server = await RedisServer.start()
  const nodes: Node[] = []
  const admin = new Redis(server.url, { lazyConnect: true })
  admin.on('error', () => {})
  try {
    for (let index = 0; index < 3; index++) nodes.push(await openNode(server.url, overrides))
    await use({ server, nodes, admin })
  } finally {
    admin.disconnect()
    await Promise.all(nodes.map(({ cluster }) => cluster.close()))
    await server.remove()
  }
}

async function until(description: string, condition: () => boolean): Promise<void> {
  const end = performance.now() + 120_000
  while (!condition()) {
    assert.ok(performance.now() < end, `not within 20 s: ${description}`)
    await wait(5)
  }
}

function nodeAt(nodes: readonly Node[], index: number): Node {
  const node = nodes[index % nodes.length]
  assert.ok(node)
  return node
}

async function take(
  node: Node,
  key: string,
  limit: number,
  cost = 1,
  window = longWindowSeconds,
): Promise<Budget> {
  const budget = node.cluster.counters.take(key, limit, cost, window)
  // A budget returned synchronously is only valid until the next take.
  return budget instanceof Promise ? budget : { ...budget }
}

const grantedOf = (budgets: readonly Budget[]) => budgets.filter(({ granted }) => granted).length

test('three nodes together grant exactly the limit, in batches', async () => {
  await withNodes(async ({ nodes }) => {
    const before = nodeAt(nodes, 0).cluster.counts?.().roundTrips ?? 0
    const budgets = await Promise.all(
      Array.from({ length: 3000 }, (_, index) => take(nodeAt(nodes, index), 'user:1', 1000)),
    )
    assert.equal(grantedOf(budgets), 1000)
    assert.deepEqual(new Set(budgets.map(({ resetAt }) => resetAt)), new Set([2 * longWindowSeconds]))
    assert.equal(budgets.filter(({ remaining, granted }) => granted && remaining === 0).length, 1)
    const roundTrips = (nodeAt(nodes, 0).cluster.counts?.().roundTrips ?? 0) - before
    assert.equal(roundTrips, 2, 'a thousand draws of one turn take two batches')
    assert.equal(nodeAt(nodes, 0).cluster.counts?.().localChecks, 0)
  })
})

test('sequential draws on several nodes get the same results as in the memory of one node', async () => {
  await withNodes(async ({ nodes }) => {
    const memory = memoryCounters()
    const draws = Array.from({ length: 300 }, (_, index) => ({
      key: `key ${index % 3}`,
      limit: 40 + (index % 2) * 20,
      cost: (index * 7) % 5,
      give: index % 11 === 0 ? (index % 6) + 1 : 0,
    }))
    for (const [index, { key, limit, cost, give }] of draws.entries()) {
      const expected = { ...memory.take(key, limit, cost, longWindowSeconds) }
      const { used: _own, ...budget } = expected as Budget & { used: number }
      assert.deepEqual(await take(nodeAt(nodes, index), key, limit, cost), budget)
      if (give === 0) continue
      memory.give(key, give, longWindowSeconds)
      nodeAt(nodes, index).cluster.counters.give(key, give, longWindowSeconds)
      // The next draw of the same node follows the refund.
      await take(nodeAt(nodes, index), 'another', 10, 0)
    }
  })
})

test('windows start at multiples of their length, and end', async () => {
  await withNodes(async ({ nodes, admin }) => {
    const [node] = nodes
    assert.ok(node)
    const minute = await take(node, 'a', 5, 1, 60)
    assert.equal(minute.resetAt % 60, 0)
    assert.ok(minute.resetAt * 1000 > Date.now() - 1000 && minute.resetAt * 1000 <= Date.now() + 61_000)
    const longer = await take(node, 'a', 5, 1, 900)
    assert.deepEqual([longer.resetAt % 900, longer.remaining], [0, 4], 'each length has its own budget')
    // A later draw does not extend the expiry.
    await take(node, 'a', 5, 1, 900)
    const remainingMs = await admin.pttl('test:rate:900:a')
    assert.ok(remainingMs <= longer.resetAt * 1000 - Date.now() + 2000, `${remainingMs} ms`)
    let refused: Budget
    do {
      refused = await take(node, 'b', 1, 1, 1)
    } while (refused.granted)
    await until('the next window', () => Date.now() > refused.resetAt * 1000 + 50)
    assert.equal((await take(node, 'b', 1, 1, 1)).granted, true)
  })
})

test('a clock of the server that was set back extends a refusal by at most one window', async () => {
  await withNodes(async ({ nodes, admin }) => {
    const [node] = nodes
    assert.ok(node)
    await admin.set('test:rate:60:a', '5', 'PX', 10_000_000)
    const budget = await take(node, 'a', 5, 1, 60)
    assert.deepEqual([budget.granted, budget.remaining], [true, 4])
    assert.ok((await admin.pttl('test:rate:60:a')) <= 60_000)
  })
})

test('a commit wakes the other nodes only, and the commits of one turn send one message', async () => {
  await withNodes(async ({ nodes }) => {
    const wakes = [0, 0, 0]
    for (const [index, { cluster }] of nodes.entries()) {
      cluster.onWake(() => {
        wakes[index] = (wakes[index] ?? 0) + 1
      })
    }
    // Wakes from the start have arrived by now.
    await wait(50)
    wakes.fill(0)
    const [writer] = nodes
    assert.ok(writer)
    for (let count = 0; count < 100; count++) writer.cluster.wake()
    await until('both are woken', () => wakes[1] === 1 && wakes[2] === 1)
    writer.cluster.wake()
    await until('both are woken again', () => wakes[1] === 2 && wakes[2] === 2)
    assert.deepEqual(wakes, [0, 2, 2])
    assert.equal(writer.cluster.counts?.().notificationsSent, 2)
  })
})

test('requests are answered while Redis is down, and the loss and the recovery are each reported once', async () => {
  await withNodes(async ({ server, nodes }) => {
    let answerCount = 0
    let running = true
    const load = nodes.map(async node => {
      for (let index = 0; running; index++) {
        await Promise.all([take(node, `user:${index % 5}`, 1_000_000), take(node, 'x', 1_000_000)])
        answerCount++
        await wait(1)
      }
    })
    await wait(100)
    await server.kill()
    await until('all have detected the loss', () =>
      nodes.every(({ cluster }) => cluster.trouble() !== undefined),
    )
    const before = answerCount
    await until('requests continue', () => answerCount > before + 100)
    await server.start()
    await until('all are connected again', () =>
      nodes.every(({ cluster }) => cluster.trouble() === undefined),
    )
    running = false
    await Promise.all(load)
    for (const { reports, cluster } of nodes) {
      assert.match(reports[0] ?? '', /^lost: ./)
      assert.deepEqual(reports.slice(1), ['back'])
      assert.equal(cluster.counts?.().disconnections, 1)
      assert.ok((cluster.counts?.().localChecks ?? 0) > 0)
    }
    const budgets = await Promise.all(
      Array.from({ length: 90 }, (_, index) => take(nodeAt(nodes, index), 'after', 30)),
    )
    assert.equal(grantedOf(budgets), 30)
    let woken = false
    nodeAt(nodes, 1).cluster.onWake(() => {
      woken = true
    })
    await until('wakes work again', () => {
      nodeAt(nodes, 0).cluster.wake()
      return woken
    })
  })
})

test('without Redis each node continues from its last known count, with the full limit', async () => {
  await withNodes(async ({ server, nodes }) => {
    const [first, second] = nodes
    assert.ok(first && second)
    for (let index = 0; index < 4; index++) await take(first, 'user:1', 6)
    assert.equal((await take(second, 'user:1', 6)).remaining, 1)
    await server.kill()
    await until('both have detected the loss', () =>
      [first, second].every(({ cluster }) => cluster.trouble()),
    )
    const firstLeft = await Promise.all([1, 2, 3].map(() => take(first, 'user:1', 6)))
    const secondLeft = await Promise.all([1, 2].map(() => take(second, 'user:1', 6)))
    // The first node knows of four draws, the second of five.
    assert.deepEqual([grantedOf(firstLeft), grantedOf(secondLeft)], [2, 1])
  })
})

test('after Redis is emptied budgets are full again, and nothing is reported', async () => {
  await withNodes(async ({ nodes, admin }) => {
    const [first, second] = nodes
    assert.ok(first && second)
    for (let index = 0; index < 3; index++) await take(first, 'user:1', 3)
    assert.equal((await take(second, 'user:1', 3)).granted, false)
    await admin.flushall()
    await admin.script('FLUSH')
    assert.deepEqual(
      (await Promise.all([1, 2, 3, 4].map(index => take(nodeAt(nodes, index), 'user:1', 3)))).filter(
        ({ granted }) => granted,
      ).length,
      3,
    )
    assert.deepEqual(
      nodes.map(({ reports }) => reports),
      [[], [], []],
    )
  })
})

test('while Redis hangs, waiting draws are answered within the timeout and later ones at once, until it recovers', async () => {
  await withNodes(
    async ({ server, nodes }) => {
      const [node] = nodes
      assert.ok(node)
      await take(node, 'user:1', 10)
      server.pause()
      const start = performance.now()
      const waited = await Promise.all([1, 2, 3].map(() => take(node, 'user:1', 10)))
      assert.ok(performance.now() - start < 5000, 'far less than the timeouts of the connection')
      assert.deepEqual(
        waited.map(({ remaining }) => remaining),
        [8, 7, 6],
      )
      const duringPause = node.cluster.counters.take('user:1', 10, 1, longWindowSeconds)
      assert.ok(!(duringPause instanceof Promise), 'draws do not wait once the hang is detected')
      // Longer than a silent connection is kept.
      await wait(3000)
      server.resume()
      await until('all are connected again', () =>
        nodes.every(({ cluster }) => cluster.trouble() === undefined),
      )
      assert.match(node.reports[0] ?? '', /no answer within 300 ms/)
    },
    { timeoutMs: 300 },
  )
})

/** Forwards everything with a delay, in milliseconds. */
function slowProxy(port: number, delay: () => number): Promise<{ server: Server; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    const behind = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {}).on('close', () => to.destroy())
      from.on('data', data => void setTimeout(() => to.writable && to.write(data), delay()))
    }
  })
  return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve({ server, sockets })))
}

test('a slow Redis stays unused until it answers in time, and no request waits for it', async () => {
  const redis = await RedisServer.start()
  let delay = 0
  const { server, sockets } = await slowProxy(redis.port, () => delay)
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  const node = await openNode(`redis://127.0.0.1:${address.port}`, { timeoutMs: 400 })
  try {
    assert.equal((await take(node, 'a', 10)).remaining, 9)
    // A busy machine can be slow by itself, and may have caused a loss already.
    await until('all is well', () => node.cluster.trouble() === undefined)
    const before = node.reports.length
    delay = 1500
    await until('the loss is detected', () => node.reports.length > before)
    for (let count = 0; count < 50; count++) {
      const draw = node.cluster.counters.take('a', 1000, 1, longWindowSeconds)
      assert.ok(!(draw instanceof Promise), 'Redis is used although it is slow')
      await wait(50)
    }
    delay = 0
    await until('it is used again', () => node.cluster.trouble() === undefined)
    const later = node.reports.slice(before)
    assert.match(later[0] ?? '', /^lost: /)
    assert.equal(later[1], 'back', later.join(', '))
  } finally {
    await node.cluster.close()
    for (const socket of sockets) socket.destroy()
    server.close()
    await redis.remove()
  }
})

test('a node whose connection breaks between a commit and its message still announces later commits', async () => {
  const redis = await RedisServer.start()
  const { server, sockets } = await slowProxy(redis.port, () => 0)
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  const writer = await openNode(`redis://127.0.0.1:${address.port}`)
  const reader = await openNode(redis.url)
  let commits = true
  const commit = () => {
    writer.cluster.wake()
    if (commits) setImmediate(commit)
  }
  try {
    let wakes = 0
    reader.cluster.onWake(() => wakes++)
    commit()
    for (let loss = 1; loss <= 5; loss++) {
      for (const socket of sockets) socket.resetAndDestroy()
      sockets.clear()
      await until('the loss is detected', () => writer.cluster.trouble() !== undefined)
      await until('the writer is connected again', () => writer.cluster.trouble() === undefined)
      const before = wakes
      await until(`the reader is woken after loss ${loss}`, () => wakes > before)
    }
  } finally {
    commits = false
    await writer.cluster.close()
    await reader.cluster.close()
    for (const socket of sockets) socket.destroy()
    server.close()
    await redis.remove()
  }
})

test('a connection that stops responding is replaced', async () => {
  const redis = await RedisServer.start()
  const silent = new Set<Socket>()
  const open = new Set<Socket>()
  const server = createServer(socket => {
    const behind = connect(redis.port, '127.0.0.1')
    open.add(socket).add(behind)
    socket.on('error', () => {}).on('close', () => behind.destroy())
    behind.on('error', () => {}).on('close', () => silent.has(socket) || socket.destroy())
    socket.on('data', data => silent.has(socket) || behind.write(data))
    behind.on('data', data => silent.has(socket) || socket.write(data))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  const node = await openNode(`redis://127.0.0.1:${address.port}`, { timeoutMs: 500 })
  try {
    assert.equal(node.cluster.trouble(), undefined)
    for (const socket of open) silent.add(socket)
    await until('the silence is detected', () => node.cluster.trouble() !== undefined)
    await until('new connections are open', () => node.cluster.trouble() === undefined)
    assert.equal((await take(node, 'a', 3)).remaining, 2)
  } finally {
    await node.cluster.close()
    for (const socket of open) socket.destroy()
    server.close()
    await redis.remove()
  }
})

test('a frozen Redis causes no warning of the process, however long it lasts', async () => {
  const sockets = new Set<Socket>()
  // It accepts connections, never answers, and does not even close them.
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.add(socket.on('error', () => {}))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  const { cluster } = await openNode(`redis://127.0.0.1:${address.port}`, { timeoutMs: 100 })
  try {
    await until('connections were replaced twice', () => sockets.size >= 6)
    assert.deepEqual(warnings, [])
  } finally {
    process.off('warning', onWarning)
    await cluster.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  }
})

test('after a loss, three consecutive timely answers are needed before Redis is used again', async () => {
  const server = await RedisServer.start()
  const answers = [true, false, true, false, true, true, false, true, true, true]
  const probes: boolean[] = []
  const changes: string[] = []
  const connection = new RedisConnection(redisOptions(server.url), {
    timeoutMs: longTimeoutMs,
    async probe(client) {
      const isGood = answers[probes.length] ?? true
      probes.push(isGood)
      if (!isGood) throw new Error('not in time')
      return client.ping()
    },
    onChange: isUp => changes.push(`${isUp ? 'up' : 'down'} after ${probes.length}`),
  })
  try {
    await until('the connection is up again', () => changes.length === 3)
    assert.deepEqual(changes, ['up after 1', 'down after 2', 'up after 10'])
  } finally {
    connection.close()
    await server.remove()
  }
})

test('a node starts without Redis, and connects once it is available', async () => {
  const server = await RedisServer.start()
  await server.kill()
  const node = await openNode(server.url)
  try {
    assert.match(node.cluster.trouble() ?? '', /unavailable/)
    assert.equal((await take(node, 'a', 3)).remaining, 2)
    await server.start()
    await until('the node is connected', () => node.cluster.trouble() === undefined)
    assert.match(node.reports[0] ?? '', /ECONNREFUSED/)
    assert.deepEqual(node.reports.slice(1), ['back'])
  } finally {
    await node.cluster.close()
    await server.remove()
  }
})

test('a server that refuses writes is not used until it accepts them again', async () => {
  await withNodes(async ({ nodes, admin }) => {
    const [node] = nodes
    assert.ok(node)
    await admin.replicaof('127.0.0.1', 1)
    await until('the refusal is detected', () => node.cluster.trouble() !== undefined)
    assert.equal((await take(node, 'a', 3)).remaining, 2)
    await wait(1000)
    assert.equal(node.reports.length, 1)
    assert.match(node.reports[0] ?? '', /READONLY/)
    await admin.replicaof('NO', 'ONE')
    await until('used again', () => node.cluster.trouble() === undefined)
  })
})

test('a wrong password is reported without revealing it', async () => {
  await withNodes(async ({ server, admin }) => {
    await admin.config('SET', 'requirepass', 'right-one')
    const wrong = await openNode(`redis://:hunter2@127.0.0.1:${server.port}`)
    const right = await openNode(`redis://:right-one@127.0.0.1:${server.port}`)
    try {
      assert.match(wrong.reports.join(), /WRONGPASS|invalid/i)
      assert.doesNotMatch(wrong.reports.join(), /hunter2/)
      assert.equal(right.cluster.trouble(), undefined)
      assert.equal((await take(right, 'a', 3)).remaining, 2)
    } finally {
      await wrong.cluster.close()
      await right.cluster.close()
    }
  })
})

test('a Redis that begins to demand a password is reported with that reason, once', async () => {
  const server = await RedisServer.start()
  const { cluster, reports } = await openNode(server.url)
  const admin = new Redis(server.url)
  admin.on('error', () => {})
  try {
    await admin.config('SET', 'requirepass', 'right-one')
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await until('it says why', () => reports.some(report => report.includes('NOAUTH')))
    await wait(1000)
    assert.equal(reports.filter(report => report.includes('NOAUTH')).length, 1)
    assert.equal(reports.length <= 2, true, reports.join())
    await admin.config('SET', 'requirepass', '')
    await until('it is used again', () => reports.at(-1) === 'back')
  } finally {
    admin.disconnect()
    await cluster.close()
    await server.remove()
  }
})

test('a Redis user with minimal permissions suffices', async () => {
  await withNodes(async ({ server, admin }) => {
    const commands = ['evalsha', 'eval', 'time', 'get', 'set', 'pttl', 'publish', 'subscribe']
    const permissions = ['~test:*', '&test:*', ...commands.map(command => `+${command}`)]
    await admin.call('ACL', 'SETUSER', 'portico', 'on', '>right-one', ...permissions)
    const url = `redis://portico:right-one@127.0.0.1:${server.port}`
    const nodes = [await openNode(url), await openNode(url)]
    try {
      let wakes = 0
      nodeAt(nodes, 1).cluster.onWake(() => wakes++)
      await wait(50)
      wakes = 0
      nodeAt(nodes, 0).cluster.wake()
      await until('the other node is woken', () => wakes === 1)
      assert.equal((await take(nodeAt(nodes, 0), 'a', 3)).remaining, 2)
      assert.equal((await take(nodeAt(nodes, 1), 'a', 3)).remaining, 1)
      assert.deepEqual(
        nodes.map(({ reports }) => reports),
        [[], []],
      )
    } finally {
      for (const { cluster } of nodes) await cluster.close()
    }
  })
})

test('a process that blocks its event loop for seconds keeps its connections', async () => {
  await withNodes(async ({ nodes, admin }) => {
    const ids = async () => (await admin.client('LIST')) as string
    const connections = async () =>
      [...(await ids()).matchAll(/^id=(\d+) .*name=portico/gm)]
        .map(([, id]) => Number(id))
        .sort((a, b) => a - b)
    const before = await connections()
    assert.equal(before.length, 6)
    for (const end = performance.now() + 3500; performance.now() < end; );
    await wait(1500)
    assert.deepEqual(await connections(), before)
    assert.deepEqual(
      nodes.map(({ reports }) => reports),
      [[], [], []],
    )
  })
})

test('an answer that arrived while the event loop was blocked counts as timely', async () => {
  await withNodes(
    async ({ nodes }) => {
      const [node] = nodes
      assert.ok(node && node.cluster.trouble() === undefined)
      const waiting = take(node, 'a', 3)
      // The draw is sent at the end of this turn.
      await new Promise(resolve => setImmediate(resolve))
      for (const end = performance.now() + 1500; performance.now() < end; );
      await waiting
      assert.deepEqual([node.reports, node.cluster.counts?.().localChecks], [[], 0])
    },
    { timeoutMs: 1000 },
  )
})

test('the number of waiting draws is limited, and further ones are counted locally', async () => {
  await withNodes(async ({ nodes }) => {
    const [node] = nodes
    assert.ok(node)
    const draws = Array.from({ length: 10_050 }, () =>
      node.cluster.counters.take('a', 100_000, 1, longWindowSeconds),
    )
    assert.equal(draws.filter(draw => draw instanceof Promise).length, 10_000)
    await Promise.all(draws)
    assert.ok(node.cluster.counters.take('a', 100_000, 1, longWindowSeconds) instanceof Promise)
  })
})

test('closing a node answers its waiting draws and does not affect other nodes', async () => {
  await withNodes(async ({ nodes, server }) => {
    const node = await openNode(server.url)
    const waiting = take(node, 'a', 3)
    await node.cluster.close()
    assert.equal((await waiting).granted, true)
    assert.deepEqual(node.reports, [])
    assert.equal(nodeAt(nodes, 0).cluster.trouble(), undefined)
  })
})

const addresses = [
  ['redis://cache', { host: 'cache', port: 6379 }],
  ['redis://:p%40ss@cache:7000/3', { host: 'cache', port: 7000, password: 'p@ss', db: 3 }],
  ['rediss://u:p@[::1]', { host: '::1', port: 6379, username: 'u', password: 'p', tls: {} }],
  ['unix:///run/my%20redis.sock?db=2', { path: '/run/my redis.sock', db: 2 }],
  ['unix://:p@localhost/run/redis.sock', { path: '/run/redis.sock', password: 'p' }],
] as const

for (const [url, expected] of addresses) {
  test(`the address ${url} is parsed`, () => {
    const { host, port, path, username, password, db, tls } = redisOptions(url)
    const actual = { host, port, path, username, password, db, tls }
    assert.deepEqual(
      Object.fromEntries(Object.entries(actual).filter(([, value]) => value !== undefined)),
      expected,
    )
  })
}

test('a node can connect over a Unix socket', async () => {
  await withNodes(async ({ admin }) => {
    const [, folder] = (await admin.config('GET', 'dir')) as [string, string]
    const socket = `${folder}/s`
    // A running server cannot open one, so a proxy listens on the socket.
    const server = createServer(from => {
      const to = connect(Number(admin.options.port), '127.0.0.1')
      from.pipe(to).pipe(from)
      from.on('error', () => {}).on('close', () => to.destroy())
      to.on('error', () => {})
    }).listen(socket)
    await once(server, 'listening')
    const node = await openNode(`unix://${socket}`)
    try {
      assert.equal(node.cluster.trouble(), undefined)
      assert.equal((await take(node, 'a', 3)).remaining, 2)
    } finally {
      await node.cluster.close()
      server.close()
    }
  })
})
