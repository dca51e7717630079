// The baseline: a bare node:http server with a constant response of 320 bytes.
// The body of a POST or PATCH is read to its end first.
import { createServer } from 'node:http'

const body = JSON.stringify({ data: 'x'.repeat(320 - '{"data":""}'.length) })
const headers = ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))]

function answer(response, status) {
  response.writeHead(status, headers)
  response.end(body)
}

createServer((request, response) => {
  const { method } = request
  if (method !== 'POST' && method !== 'PATCH') return answer(response, 200)
  request.on('data', () => {})
  request.on('end', () => answer(response, method === 'POST' ? 201 : 200))
}).listen(Number(process.env.PORT), '127.0.0.1')
