/** What nodes share by Redis: a real server, which is killed, emptied, stopped, slow and read-only. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Budget, Cluster } from '../../src/cluster/cluster.ts'
import { memoryCounters } from '../../src/cluster/memory-counters.ts'
import { type RedisClusterOptions, redisCluster } from '../../src/cluster/redis-cluster.ts'
import { RedisConnection, redisOptions } from '../../src/cluster/redis-connection.ts'
import { RedisServer } from '../databases/redis.ts'

/** So long that none ends while a test runs, in seconds. */
const LONG = 1_000_000_000
/** For tests that want exactness, whatever else the machine does. */
const PATIENT = 10_000

interface Node {
  readonly cluster: Cluster
  /** What was logged. */
  readonly told: string[]
}

async function openNode(url: string, given: Partial<RedisClusterOptions> = {}): Promise<Node> {
  const told: string[] = []
  const cluster = await redisCluster({
    url,
    prefix: 'test:',
    timeoutMs: PATIENT,
    onLost: reason => told.push(`lost: ${reason}`),
    onBack: () => told.push('back'),
    ...given,
  })
  return { cluster, told }
}

interface World {
  readonly server: RedisServer
  readonly nodes: readonly Node[]
  readonly admin: Redis
}

/** Three nodes at a server of their own. */
async function withNodes(
  use: (world: World) => Promise<void>,
  given: Partial<RedisClusterOptions> = {},
): Promise<void> {
  const server = await RedisServer.start()
  const nodes: Node[] = []
  const admin = new Redis(server.url, { lazyConnect: true })
  admin.on('error', () => {})
  try {
    for (let at = 0; at < 3; at++) nodes.push(await openNode(server.url, given))
    await use({ server, nodes, admin })
  } finally {
    admin.disconnect()
    await Promise.all(nodes.map(({ cluster }) => cluster.close()))
    await server.remove()
  }
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  const end = performance.now() + 20_000
  while (!isSo()) {
    assert.ok(performance.now() < end, `not within 20 s: ${what}`)
    await wait(5)
  }
}

function nodeAt(nodes: readonly Node[], at: number): Node {
  const node = nodes[at % nodes.length]
  assert.ok(node)
  return node
}

async function take(node: Node, key: string, limit: number, cost = 1, window = LONG): Promise<Budget> {
  const budget = node.cluster.counters.take(key, limit, cost, window)
  // One that is there at once is good until the next take only.
  return budget instanceof Promise ? budget : { ...budget }
}

const grantedOf = (budgets: readonly Budget[]) => budgets.filter(({ granted }) => granted).length

test('three nodes at once grant exactly the limit, in batches', async () => {
  await withNodes(async ({ nodes }) => {
    const before = nodeAt(nodes, 0).cluster.counts?.().roundTrips ?? 0
    const budgets = await Promise.all(
      Array.from({ length: 3000 }, (_, at) => take(nodeAt(nodes, at), 'user:1', 1000)),
    )
    assert.equal(grantedOf(budgets), 1000)
    assert.deepEqual(new Set(budgets.map(({ resetAt }) => resetAt)), new Set([2 * LONG]))
    assert.equal(budgets.filter(({ remaining, granted }) => granted && remaining === 0).length, 1)
    const trips = (nodeAt(nodes, 0).cluster.counts?.().roundTrips ?? 0) - before
    assert.equal(trips, 2, 'a thousand draws of one turn go in two batches')
    assert.equal(nodeAt(nodes, 0).cluster.counts?.().localChecks, 0)
  })
})

test('draws one after another are answered as one node’s memory answers them', async () => {
  await withNodes(async ({ nodes }) => {
    const memory = memoryCounters()
    const draws = Array.from({ length: 300 }, (_, at) => ({
      key: `key ${at % 3}`,
      limit: 40 + (at % 2) * 20,
      cost: (at * 7) % 5,
      give: at % 11 === 0 ? (at % 6) + 1 : 0,
    }))
    for (const [at, { key, limit, cost, give }] of draws.entries()) {
      const expected = { ...memory.take(key, limit, cost, LONG) }
      const { used: _own, ...budget } = expected as Budget & { used: number }
      assert.deepEqual(await take(nodeAt(nodes, at), key, limit, cost), budget)
      if (give === 0) continue
      memory.give(key, give, LONG)
      nodeAt(nodes, at).cluster.counters.give(key, give, LONG)
      // What the same node asks next comes after it.
      await take(nodeAt(nodes, at), 'another', 10, 0)
    }
  })
})

test('windows begin at whole multiples of their length, and end', async () => {
  await withNodes(async ({ nodes, admin }) => {
    const [node] = nodes
    assert.ok(node)
    const minute = await take(node, 'a', 5, 1, 60)
    assert.equal(minute.resetAt % 60, 0)
    assert.ok(minute.resetAt * 1000 > Date.now() - 1000 && minute.resetAt * 1000 <= Date.now() + 61_000)
    const longer = await take(node, 'a', 5, 1, 900)
    assert.deepEqual([longer.resetAt % 900, longer.remaining], [0, 4], 'each length counts for itself')
    // Not later, however late in the window it was drawn from.
    await take(node, 'a', 5, 1, 900)
    const kept = await admin.pttl('test:rate:900:a')
    assert.ok(kept <= longer.resetAt * 1000 - Date.now() + 2000, `${kept} ms`)
    let refused: Budget
    do {
      refused = await take(node, 'b', 1, 1, 1)
    } while (refused.granted)
    await until('the next window', () => Date.now() > refused.resetAt * 1000 + 50)
    assert.equal((await take(node, 'b', 1, 1, 1)).granted, true)
  })
})

test('a clock of the server that was set back does not refuse for longer than a window', async () => {
  await withNodes(async ({ nodes, admin }) => {
    const [node] = nodes
    assert.ok(node)
    await admin.set('test:rate:60:a', '5', 'PX', 10_000_000)
    const budget = await take(node, 'a', 5, 1, 60)
    assert.deepEqual([budget.granted, budget.remaining], [true, 4])
    assert.ok((await admin.pttl('test:rate:60:a')) <= 60_000)
  })
})

test('a commit wakes the other nodes, not its own; the commits of a turn are one message', async () => {
  await withNodes(async ({ nodes }) => {
    const heard = [0, 0, 0]
    for (const [at, { cluster }] of nodes.entries()) {
      cluster.onWake(() => {
        heard[at] = (heard[at] ?? 0) + 1
      })
    }
    // What starting has told is over.
    await wait(50)
    heard.fill(0)
    const [writer] = nodes
    assert.ok(writer)
    for (let count = 0; count < 100; count++) writer.cluster.wake()
    await until('both have heard', () => heard[1] === 1 && heard[2] === 1)
    writer.cluster.wake()
    await until('both have heard again', () => heard[1] === 2 && heard[2] === 2)
    assert.deepEqual(heard, [0, 2, 2])
    assert.equal(writer.cluster.counts?.().notificationsSent, 2)
  })
})

test('killed while requests go on: all are answered; it comes back by itself, told once each', async () => {
  await withNodes(async ({ server, nodes }) => {
    let answered = 0
    let running = true
    const load = nodes.map(async node => {
      for (let at = 0; running; at++) {
        await Promise.all([take(node, `user:${at % 5}`, 1_000_000), take(node, 'x', 1_000_000)])
        answered++
        await wait(1)
      }
    })
    await wait(100)
    await server.kill()
    await until('all have noticed', () => nodes.every(({ cluster }) => cluster.trouble() !== undefined))
    const before = answered
    await until('requests go on', () => answered > before + 100)
    await server.start()
    await until('all are back', () => nodes.every(({ cluster }) => cluster.trouble() === undefined))
    running = false
    await Promise.all(load)
    for (const { told, cluster } of nodes) {
      assert.match(told[0] ?? '', /^lost: ./)
      assert.deepEqual(told.slice(1), ['back'])
      assert.equal(cluster.counts?.().disconnections, 1)
      assert.ok((cluster.counts?.().localChecks ?? 0) > 0)
    }
    const budgets = await Promise.all(
      Array.from({ length: 90 }, (_, at) => take(nodeAt(nodes, at), 'after', 30)),
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

test('without Redis each node goes on from what it heard last, with the whole limit', async () => {
  await withNodes(async ({ server, nodes }) => {
    const [first, second] = nodes
    assert.ok(first && second)
    for (let at = 0; at < 4; at++) await take(first, 'user:1', 6)
    assert.equal((await take(second, 'user:1', 6)).remaining, 1)
    await server.kill()
    await until('both have noticed', () => [first, second].every(({ cluster }) => cluster.trouble()))
    const firstLeft = await Promise.all([1, 2, 3].map(() => take(first, 'user:1', 6)))
    const secondLeft = await Promise.all([1, 2].map(() => take(second, 'user:1', 6)))
    // The first has heard of four, the second of five.
    assert.deepEqual([grantedOf(firstLeft), grantedOf(secondLeft)], [2, 1])
  })
})

test('emptied: budgets are whole again, and nothing else happens', async () => {
  await withNodes(async ({ nodes, admin }) => {
    const [first, second] = nodes
    assert.ok(first && second)
    for (let at = 0; at < 3; at++) await take(first, 'user:1', 3)
    assert.equal((await take(second, 'user:1', 3)).granted, false)
    await admin.flushall()
    await admin.script('FLUSH')
    assert.deepEqual(
      (await Promise.all([1, 2, 3, 4].map(at => take(nodeAt(nodes, at), 'user:1', 3)))).filter(
        ({ granted }) => granted,
      ).length,
      3,
    )
    assert.deepEqual(
      nodes.map(({ told }) => told),
      [[], [], []],
    )
  })
})

test('hanging: who waits is answered in time, later ones at once, and it comes back', async () => {
  await withNodes(
    async ({ server, nodes }) => {
      const [node] = nodes
      assert.ok(node)
      await take(node, 'user:1', 10)
      server.pause()
      const start = performance.now()
      const waited = await Promise.all([1, 2, 3].map(() => take(node, 'user:1', 10)))
      assert.ok(performance.now() - start < 5000, 'far less than any patience of the connection')
      assert.deepEqual(
        waited.map(({ remaining }) => remaining),
        [8, 7, 6],
      )
      const at = node.cluster.counters.take('user:1', 10, 1, LONG)
      assert.ok(!(at instanceof Promise), 'nobody waits for what is known to hang')
      // Longer than a connection is kept that says nothing.
      await wait(3000)
      server.resume()
      await until('back', () => nodes.every(({ cluster }) => cluster.trouble() === undefined))
      assert.match(node.told[0] ?? '', /no answer within 300 ms/)
    },
    { timeoutMs: 300 },
  )
})

/** Hands everything on, so much later. */
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

test('slow: it stays away until it answers in time, and no request waits for it', async () => {
  const redis = await RedisServer.start()
  let delay = 0
  const { server, sockets } = await slowProxy(redis.port, () => delay)
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  const node = await openNode(`redis://127.0.0.1:${address.port}`, { timeoutMs: 400 })
  try {
    assert.equal((await take(node, 'a', 10)).remaining, 9)
    delay = 1500
    await until('noticed', () => node.cluster.trouble() !== undefined)
    for (let count = 0; count < 50; count++) {
      const draw = node.cluster.counters.take('a', 1000, 1, LONG)
      assert.ok(!(draw instanceof Promise), 'it came back though it is slow')
      await wait(50)
    }
    delay = 0
    await until('back', () => node.cluster.trouble() === undefined)
    assert.equal(node.told.length, 2, node.told.join(', '))
  } finally {
    await node.cluster.close()
    for (const socket of sockets) socket.destroy()
    server.close()
    await redis.remove()
  }
})

test('a node whose connection breaks off between a commit and its message tells of later commits', async () => {
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
    let heard = 0
    reader.cluster.onWake(() => heard++)
    commit()
    for (let loss = 1; loss <= 5; loss++) {
      for (const socket of sockets) socket.resetAndDestroy()
      sockets.clear()
      await until('the loss', () => writer.cluster.trouble() !== undefined)
      await until('back', () => writer.cluster.trouble() === undefined)
      const before = heard
      await until(`the reader hears after loss ${loss}`, () => heard > before)
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

test('a connection without answers is replaced by a new one', async () => {
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
    await until('noticed', () => node.cluster.trouble() !== undefined)
    await until('back, by new connections', () => node.cluster.trouble() === undefined)
    assert.equal((await take(node, 'a', 3)).remaining, 2)
  } finally {
    await node.cluster.close()
    for (const socket of open) socket.destroy()
    server.close()
    await redis.remove()
  }
})

test('after a loss it takes three answers in time, one after another', async () => {
  const server = await RedisServer.start()
  const answers = [true, false, true, false, true, true, false, true, true, true]
  const asked: boolean[] = []
  const changes: string[] = []
  const line = new RedisConnection(redisOptions(server.url), {
    timeoutMs: PATIENT,
    async probe(client) {
      const isGood = answers[asked.length] ?? true
      asked.push(isGood)
      if (!isGood) throw new Error('not in time')
      return client.ping()
    },
    onChange: isUp => changes.push(`${isUp ? 'up' : 'down'} after ${asked.length}`),
  })
  try {
    await until('up for good', () => changes.length === 3)
    assert.deepEqual(changes, ['up after 1', 'down after 2', 'up after 10'])
  } finally {
    line.close()
    await server.remove()
  }
})

test('not there at the start: the node runs, and finds it later', async () => {
  const server = await RedisServer.start()
  await server.kill()
  const node = await openNode(server.url)
  try {
    assert.match(node.cluster.trouble() ?? '', /away/)
    assert.equal((await take(node, 'a', 3)).remaining, 2)
    await server.start()
    await until('found', () => node.cluster.trouble() === undefined)
    assert.match(node.told[0] ?? '', /ECONNREFUSED/)
    assert.deepEqual(node.told.slice(1), ['back'])
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
    await until('noticed', () => node.cluster.trouble() !== undefined)
    assert.equal((await take(node, 'a', 3)).remaining, 2)
    await wait(1000)
    assert.equal(node.told.length, 1)
    assert.match(node.told[0] ?? '', /READONLY/)
    await admin.replicaof('NO', 'ONE')
    await until('used again', () => node.cluster.trouble() === undefined)
  })
})

test('a wrong password is told, and not repeated', async () => {
  await withNodes(async ({ server, admin }) => {
    await admin.config('SET', 'requirepass', 'right-one')
    const wrong = await openNode(`redis://:hunter2@127.0.0.1:${server.port}`)
    const right = await openNode(`redis://:right-one@127.0.0.1:${server.port}`)
    try {
      assert.match(wrong.told.join(), /WRONGPASS|invalid/i)
      assert.doesNotMatch(wrong.told.join(), /hunter2/)
      assert.equal(right.cluster.trouble(), undefined)
      assert.equal((await take(right, 'a', 3)).remaining, 2)
    } finally {
      await wrong.cluster.close()
      await right.cluster.close()
    }
  })
})

test('a user of the server with few rights is enough', async () => {
  await withNodes(async ({ server, admin }) => {
    const commands = ['evalsha', 'eval', 'time', 'get', 'set', 'pttl', 'publish', 'subscribe']
    const rights = ['~test:*', '&test:*', ...commands.map(command => `+${command}`)]
    await admin.call('ACL', 'SETUSER', 'portico', 'on', '>right-one', ...rights)
    const url = `redis://portico:right-one@127.0.0.1:${server.port}`
    const nodes = [await openNode(url), await openNode(url)]
    try {
      let heard = 0
      nodeAt(nodes, 1).cluster.onWake(() => heard++)
      await wait(50)
      heard = 0
      nodeAt(nodes, 0).cluster.wake()
      await until('it hears', () => heard === 1)
      assert.equal((await take(nodeAt(nodes, 0), 'a', 3)).remaining, 2)
      assert.equal((await take(nodeAt(nodes, 1), 'a', 3)).remaining, 1)
      assert.deepEqual(
        nodes.map(({ told }) => told),
        [[], []],
      )
    } finally {
      for (const { cluster } of nodes) await cluster.close()
    }
  })
})

test('a process that does nothing else for seconds keeps its connections', async () => {
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
      nodes.map(({ told }) => told),
      [[], [], []],
    )
  })
})

test('an answer that is there when a busy process looks is in time', async () => {
  await withNodes(
    async ({ nodes }) => {
      const [node] = nodes
      assert.ok(node && node.cluster.trouble() === undefined)
      const waiting = take(node, 'a', 3)
      // Sent at the end of this turn.
      await new Promise(resolve => setImmediate(resolve))
      for (const end = performance.now() + 1500; performance.now() < end; );
      await waiting
      assert.deepEqual([node.told, node.cluster.counts?.().localChecks], [[], 0])
    },
    { timeoutMs: 1000 },
  )
})

test('what waits for answers is bounded: more is counted here', async () => {
  await withNodes(async ({ nodes }) => {
    const [node] = nodes
    assert.ok(node)
    const draws = Array.from({ length: 10_050 }, () => node.cluster.counters.take('a', 100_000, 1, LONG))
    assert.equal(draws.filter(draw => draw instanceof Promise).length, 10_000)
    await Promise.all(draws)
    assert.ok(node.cluster.counters.take('a', 100_000, 1, LONG) instanceof Promise)
  })
})

test('a closed node keeps nothing alive, and answers what still waits', async () => {
  await withNodes(async ({ nodes, server }) => {
    const node = await openNode(server.url)
    const waiting = take(node, 'a', 3)
    await node.cluster.close()
    assert.equal((await waiting).granted, true)
    assert.deepEqual(node.told, [])
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
  test(`the address ${url}`, () => {
    const { host, port, path, username, password, db, tls } = redisOptions(url)
    const found = { host, port, path, username, password, db, tls }
    assert.deepEqual(
      Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)),
      expected,
    )
  })
}

test('a Unix socket works', async () => {
  await withNodes(async ({ admin }) => {
    const [, folder] = (await admin.config('GET', 'dir')) as [string, string]
    const socket = `${folder}/s`
    // A running server opens none: one before it that hands everything on does as well.
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
