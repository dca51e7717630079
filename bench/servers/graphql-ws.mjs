// The comparison for W8: graphql-ws on a bare server, without credentials, rules, log or database: a POST is published at
// once. `GET /` answers when the server is ready. With PLAIN=1 it uses `ws` without graphql-ws, and sends only the message.
import { createServer } from 'node:http'
import { buildSchema } from 'graphql'
import { useServer } from 'graphql-ws/use/ws'
import { WebSocketServer } from 'ws'

const schema = buildSchema(`
  type Query { ok: Boolean }
  type Subscription { newPost: Post! }
  type Post { id: ID!  title: String! }
`)

const listeners = new Set()

/** Returns an iterator for one subscriber. */
function newPosts() {
  const pending = []
  let resolve
  const push = post => {
    if (resolve) resolve({ value: { newPost: post }, done: false })
    else pending.push(post)
    resolve = undefined
  }
  listeners.add(push)
  return {
    next: () =>
      pending.length > 0
        ? Promise.resolve({ value: { newPost: pending.shift() }, done: false })
        : new Promise(done => {
            resolve = done
          }),
    return() {
      listeners.delete(push)
      return Promise.resolve({ value: undefined, done: true })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

let id = 0
const server = createServer((request, response) => {
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    response.end('{}')
    if (request.method !== 'POST') return
    const { title } = JSON.parse(Buffer.concat(chunks).toString())
    const post = { id: String(++id), title }
    for (const push of listeners) push(post)
  })
})

if (process.env.PLAIN === '1') {
  const sockets = new WebSocketServer({
    server,
    path: '/graphql',
    handleProtocols: () => 'graphql-transport-ws',
  })
  sockets.on('connection', socket => {
    socket.on('message', data => {
      const { type } = JSON.parse(data)
      if (type === 'connection_init') socket.send('{"type":"connection_ack"}')
      else
        listeners.add(post =>
          socket.send(`{"id":"1","type":"next","payload":{"data":{"newPost":${JSON.stringify(post)}}}}`),
        )
    })
  })
} else {
  useServer(
    { schema, roots: { subscription: { newPost: newPosts } } },
    new WebSocketServer({ server, path: '/graphql' }),
  )
}
server.listen(Number(process.env.PORT), '127.0.0.1')
