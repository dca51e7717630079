// The hand-written server, an upper limit: node:http and node:sqlite, one statement per request, JSON built in SQL.
// No credentials, rules, limits or event log; waiting writes share a transaction. It returns the same data as Portico, with a
// total where Portico has one: a server that counted, sorted or returned less would make the floors unreachable.
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { prepareLimit } from './limit-schema.ts'

const database = new DatabaseSync(process.env.DATABASE_URL)
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
database.exec('PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY')
prepareLimit(database)
const hasStatus =
  database.prepare("SELECT 1 FROM pragma_table_info('posts') WHERE name = 'status'").get() !== undefined

function prepare(text) {
  const statement = database.prepare(text)
  statement.setReturnArrays(true)
  return statement
}

/** The fields of a post, as arguments of json_object. RETURNING knows no alias. */
const fields = (row = 'p.') =>
  ['id', 'title', 'body', ...(hasStatus ? ['status'] : []), 'author_id', 'created_at']
    .map(name => `'${name}', ${row}${name}`)
    .join(', ')
const object = (row = 'p.') => `json_object(${fields(row)})`
const author = `'author', (SELECT json_object('id', u.id, 'name', u.name, 'email', u.email, 'role', u.role, 'disabled', json(iif(u.disabled, 'true', 'false')), 'created_at', u.created_at) FROM users u WHERE u.id = p.author_id)`

/** The JSON texts of the rows that `rows` returns, then their number. */
const pageOf = (text, rows, total) =>
  prepare(`SELECT (SELECT group_concat(o) FROM (SELECT ${text} o FROM ${rows})), ${total}`)
const newest = 'ORDER BY p.created_at DESC, p.id DESC LIMIT ? OFFSET ?'
const maintainedTotal = "(SELECT n FROM _totals WHERE collection = 'posts')"
const countOf = where => `(SELECT count(*) FROM posts p WHERE ${where})`
const ofAdmins = "p.author_id IN (SELECT id FROM users WHERE role = 'admin')"

const item = prepare(`SELECT ${object()} FROM posts p WHERE p.id = ?`)
const page = pageOf(object(), 'posts p ORDER BY p.id LIMIT ? OFFSET ?', maintainedTotal)
const newestPage = pageOf(object(), `posts p ${newest}`, maintainedTotal)
const authorsNewest = pageOf(
  `json_object(${fields()}, ${author})`,
  `posts p WHERE p.author_id = ?1 ORDER BY p.created_at DESC, p.id DESC LIMIT ?2 OFFSET ?3`,
  countOf('p.author_id = ?1'),
)
const ofUser = pageOf(
  object(),
  'posts p WHERE p.author_id = ?1 ORDER BY p.id LIMIT ?2 OFFSET ?3',
  `${countOf('p.author_id = ?1')}, (SELECT 1 FROM users WHERE id = ?1)`,
)
const cursorOver = (where, others = '') =>
  prepare(
    `SELECT group_concat(o), max(id)${others} FROM (SELECT p.id, ${object()} o FROM posts p WHERE ${where} ORDER BY p.id LIMIT ?)`,
  )
const after = cursorOver('p.id > ?')
const ofUserAfter = cursorOver('p.author_id = ?1 AND p.id > ?2', ', (SELECT 1 FROM users WHERE id = ?1)')
// Sorts ids in the index first, and then reads only the page's rows.
const adminsNewest = pageOf(
  object(),
  `(SELECT p.id FROM posts p WHERE ${ofAdmins} ${newest}) f JOIN posts p ON p.id = f.id ORDER BY p.created_at DESC, p.id DESC`,
  countOf(ofAdmins),
)
const ofStatus = 'posts p WHERE p.status = ?1 ORDER BY p.created_at DESC, p.id DESC LIMIT ?2 OFFSET ?3'
const statusNewest = hasStatus && pageOf(object(), ofStatus, countOf('p.status = ?1'))
// A bounded count: at most 10,001 rows are scanned.
const bounded = '(SELECT count(*) FROM (SELECT 1 FROM posts p WHERE p.status = ?1 LIMIT 10001))'
const statusEstimated = hasStatus && pageOf(object(), ofStatus, bounded)
const statusWithoutTotal = hasStatus && pageOf(object(), ofStatus, 'NULL')
const ofStatusBy = { exact: statusNewest, estimate: statusEstimated, none: statusWithoutTotal }
const searched =
  hasStatus &&
  pageOf(
    object(),
    `limit_search f JOIN posts p ON p.id = f.rowid WHERE f.limit_search MATCH ?1 ORDER BY f.rowid LIMIT ?2 OFFSET ?3`,
    '(SELECT count(*) FROM limit_search WHERE limit_search MATCH ?1)',
  )
const insert = prepare(
  `INSERT INTO posts (title, body, author_id, created_at) VALUES (?, ?, 1, ?) RETURNING ${object('')}`,
)
const update = prepare(`UPDATE posts SET title = ? WHERE id = ? RETURNING ${object('')}`)
const remove = prepare('DELETE FROM posts WHERE id = ?')
const userWithPosts = prepare(`
  SELECT json_object('id', CAST(o.id AS TEXT), 'email', o.email, 'posts', (
    SELECT json_group_array(json_object('id', CAST(p.id AS TEXT), 'title', p.title, 'author',
      (SELECT json_object('id', CAST(u.id AS TEXT), 'email', u.email) FROM users u WHERE u.id = p.author_id)))
    FROM (SELECT id, title, author_id FROM posts WHERE author_id = o.id ORDER BY created_at DESC, id DESC LIMIT ?) p))
  FROM users o WHERE o.id = ?`)

function send(response, status, text) {
  response.writeHead(status, [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(Buffer.byteLength(text)),
  ])
  response.end(text)
}

const missing = '{"error":{"code":"NOT_FOUND","message":""}}'

function pageText(rows, total, number, perPage) {
  const first = total === null ? '' : `"total":${total},`
  return `{"data":[${rows ?? ''}],"meta":{${first}"page":${number},"per_page":${perPage}}}`
}

const cursorText = (rows, last, perPage) =>
  `{"data":[${rows ?? ''}],"meta":{"per_page":${perPage},"next_cursor":${last}}}`

/** The statement for the requested page, and its arguments before limit and offset. */
function statementFor(query) {
  if (query.has('q')) return [searched, query.get('q')]
  if (query.has('status')) {
    return [ofStatusBy[query.get('total') ?? 'exact'], query.get('status')]
  }
  if (query.has('author_id')) return [authorsNewest, Number(query.get('author_id'))]
  if (query.has('author.role')) return [adminsNewest]
  return [query.has('sort') ? newestPage : page]
}

function list(query) {
  const perPage = Number(query.get('per_page') ?? 20)
  const cursor = query.get('cursor')
  if (cursor !== null) return cursorText(...after.get(Number(cursor), perPage), perPage)
  const number = Number(query.get('page') ?? 1)
  const [statement, ...values] = statementFor(query)
  const [rows, total] = statement.get(...values, perPage, (number - 1) * perPage)
  return pageText(rows, total, number, perPage)
}

function listOfUser(user, query) {
  const perPage = Number(query.get('per_page') ?? 20)
  const cursor = query.get('cursor')
  if (cursor !== null) {
    const [rows, last, isThere] = ofUserAfter.get(user, Number(cursor), perPage)
    return isThere === null ? undefined : cursorText(rows, last, perPage)
  }
  const number = Number(query.get('page') ?? 1)
  const [rows, total, isThere] = ofUser.get(user, perPage, (number - 1) * perPage)
  return isThere === null ? undefined : pageText(rows, total, number, perPage)
}

function graphql({ id, limit }) {
  const [user] = userWithPosts.get(limit, Number(id)) ?? ['null']
  return `{"data":{"user":${user}}}`
}

const posts = '/api/v1/posts'
const users = '/api/v1/users/'

function answerRead(url, response) {
  if (url.startsWith(`${posts}/`)) {
    const [text] = item.get(idIn(url)) ?? []
    return send(response, text === undefined ? 404 : 200, text ?? missing)
  }
  const index = url.indexOf('?')
  const query = new URLSearchParams(index === -1 ? '' : url.slice(index))
  const text = url.startsWith(users)
    ? listOfUser(Number.parseInt(url.slice(users.length), 10), query)
    : list(query)
  send(response, text === undefined ? 404 : 200, text ?? missing)
}

const createPost = ({ title, body }) => [201, insert.get(title, body, new Date().toISOString())[0]]

const changePost = (id, { title }) => {
  const [text] = update.get(title, id) ?? []
  return text === undefined ? [404, missing] : [200, text]
}

const removePost = id => (remove.run(id).changes === 0 ? [404, missing] : [204, ''])

/** Writes that wait for the next transaction, with their responses. */
let waiting = []

function write(run, response) {
  if (waiting.length === 0) setImmediate(commit)
  waiting.push({ run, response })
}

function commit() {
  const writes = waiting
  waiting = []
  database.exec('BEGIN IMMEDIATE')
  const answers = writes.map(({ run }) => run())
  database.exec('COMMIT')
  for (const [index, { response }] of writes.entries()) {
    const [status, text] = answers[index]
    if (status === 204) response.writeHead(204).end()
    else send(response, status, text)
  }
}

const idIn = url => Number(url.slice(posts.length + 1))

function answerPosted({ method, url }, body, response) {
  if (url === '/graphql') send(response, 200, graphql(body.variables))
  else write(() => (method === 'POST' ? createPost(body) : changePost(idIn(url), body)), response)
}

createServer((request, response) => {
  const { url, method } = request
  if (method === 'GET') return answerRead(url, response)
  if (method === 'DELETE') return write(() => removePost(idIn(url)), response)
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => answerPosted(request, JSON.parse(Buffer.concat(chunks).toString()), response))
}).listen(Number(process.env.PORT), '127.0.0.1')
