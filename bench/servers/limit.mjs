// The limit to compare with: raw node:http and node:sqlite, one statement a request, JSON built in SQL.
// No credential, no rules, no limits, no event log; one transaction for each write.
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'

const database = new DatabaseSync(process.env.DATABASE_URL)
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
const object = `json_object('id', id, 'title', title, 'body', body, 'author_id', author_id, 'created_at', created_at)`
const item = database.prepare(`SELECT ${object} FROM posts WHERE id = ?`)
const page = database.prepare(
  `SELECT group_concat(o), (SELECT n FROM _totals WHERE collection = 'posts') FROM (SELECT ${object} o FROM posts ORDER BY id LIMIT 20 OFFSET ?)`,
)
const after = database.prepare(
  `SELECT group_concat(o), max(id) FROM (SELECT id, ${object} o FROM posts WHERE id > ? ORDER BY id LIMIT 20)`,
)
const insert = database.prepare(
  `INSERT INTO posts (title, body, author_id, created_at) VALUES (?, ?, 1, ?) RETURNING ${object}`,
)
for (const statement of [item, page, after, insert]) statement.setReturnArrays(true)

function send(response, status, text) {
  response.writeHead(status, [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(Buffer.byteLength(text)),
  ])
  response.end(text)
}

function list(query) {
  const cursor = query.get('cursor')
  if (cursor !== null) {
    const [rows, last] = after.get(Number(cursor))
    return `{"data":[${rows}],"meta":{"per_page":20,"next_cursor":${last}}}`
  }
  const number = Number(query.get('page') ?? 1)
  const [rows, total] = page.get((number - 1) * 20)
  return `{"data":[${rows}],"meta":{"total":${total},"page":${number},"per_page":20}}`
}

createServer((request, response) => {
  const { url } = request
  if (request.method === 'POST') {
    const chunks = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const { title, body } = JSON.parse(Buffer.concat(chunks).toString())
      send(response, 201, insert.get(title, body, new Date().toISOString())[0])
    })
  } else if (url.startsWith('/api/v1/posts/')) {
    const [text] = item.get(Number(url.slice('/api/v1/posts/'.length))) ?? []
    send(response, text === undefined ? 404 : 200, text ?? '{"error":{"code":"NOT_FOUND","message":""}}')
  } else {
    const at = url.indexOf('?')
    send(response, 200, list(new URLSearchParams(at === -1 ? '' : url.slice(at))))
  }
}).listen(Number(process.env.PORT), '127.0.0.1')
