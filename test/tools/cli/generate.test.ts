/** `portico generate client`: its input, its output and its errors. */
import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { parseArguments } from '../../../src/tools/cli/commands/commands.ts'
import { client } from '../../../src/tools/cli/commands/generate.ts'
import blogModel from '../../models/blog.ts'
import { blog, portico } from '../../system/processes/command.ts'

let folder = ''
let out = ''
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'portico-generate-'))
  out = join(folder, 'api.ts')
})
after(() => rmSync(folder, { recursive: true, force: true }))

const command = { ...client, name: 'generate client', sentence: '' }
const generate = async (...words: string[]) => command.run(parseArguments(command, words))
const document = JSON.stringify(openapi(checkModel(blogModel), undefined))

/** Runs `use` with the URL of a server. */
async function withServer(listener: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
}

describe('portico generate client', () => {
  it('writes the types of the model, and --check tells whether the file is current', async () => {
    const model = ['--model', blog, '--out', out]
    await assert.rejects(generate(...model, '--check'), { message: /There is no file/ })
    assert.equal(await generate(...model), `${out} written.\n`)
    assert.equal(await generate('--model', blog), readFileSync(out, 'utf8'))
    assert.equal(await generate(...model), `${out} is current.\n`)
    assert.equal(await generate(...model, '--check'), `${out} is current.\n`)
    // As in a checkout on Windows.
    writeFileSync(out, readFileSync(out, 'utf8').replaceAll('\n', '\r\n'))
    assert.equal(await generate(...model, '--check'), `${out} is current.\n`)
    appendFileSync(out, '// mine\n')
    const { code, err } = await portico(['generate', 'client', ...model, '--check'])
    assert.equal(code, 1)
    assert.match(err, /^\S+ is not current: line \d+ is\n {2}\/\/ mine\nand would be\n/)
  })

  it('reads the document of a service, with the given headers', async () => {
    const listener: RequestListener = (request, response) => {
      if (request.headers.authorization !== 'Bearer sesame') response.writeHead(401).end()
      else if (request.url === '/behind/api/v1/openapi.json') response.end(document)
      else response.writeHead(308, { location: '/behind/api/v1/openapi.json' }).end()
    }
    await withServer(listener, async url => {
      const header = ['--header', 'Authorization: Bearer sesame']
      for (const from of [
        url,
        `${url}/`,
        `${url}/behind`,
        `${url}/behind/api/v1/openapi.json?token=sesame`,
      ]) {
        const text = await generate('--from', from, ...header)
        assert.match(text, /export interface PostCreate \{/)
        assert.doesNotMatch(text, /sesame/)
      }
      await assert.rejects(generate('--from', url), {
        message: /answered 401 .* Send a credential: `--header/,
      })
    })
  })

  it('reports an invalid response in a sentence', async () => {
    const other = JSON.stringify({ openapi: '3.0.0', paths: {} })
    const answers: readonly (readonly [RegExp, RequestListener])[] = [
      [/answered 404 .* Name the service/, (_, response) => response.writeHead(404).end()],
      [/answered 503 .* Try again/, (_, response) => response.writeHead(503).end()],
      [/is not JSON: is Portico served there\?/, (_, response) => response.end('<!doctype html>')],
      [/not an OpenAPI document of Portico/, (_, response) => response.end(other)],
      [/not an OpenAPI document of Portico/, (_, response) => response.end('null')],
      [/No document of Portico is that large/, (_, response) => response.end(Buffer.alloc(2 ** 25 + 1, ' '))],
      [
        /redirects without a valid Location/,
        (_, response) => response.writeHead(302, { location: 'http://[' }).end(),
      ],
      [/redirects more than 3 times/, (_, response) => response.writeHead(302, { location: '/' }).end()],
      [
        /redirects to https:\/\/127\.0\.0\.1:9\. If that is/,
        (_, response) => response.writeHead(302, { location: 'https://127.0.0.1:9/' }).end(),
      ],
      [/ended the connection without a whole response/, request => request.socket.destroy()],
    ]
    for (const [message, listener] of answers)
      await withServer(listener, url => assert.rejects(generate('--from', url), { message }))
  })

  it('does not follow a redirect to another host, which would receive the headers', async () => {
    let count = 0
    const elsewhere: RequestListener = (_, response) => {
      count += 1
      response.end(document)
    }
    await withServer(elsewhere, other =>
      withServer(
        (_, response) => response.writeHead(302, { location: `${other}/api/v1/openapi.json` }).end(),
        async url => {
          const message = new RegExp(
            `redirects to ${other}\\. If that is the service, name it: \`--from ${other}\``,
          )
          await assert.rejects(generate('--from', url, '--header', 'X-API-Key: secret'), { message })
        },
      ),
    )
    assert.equal(count, 0)
  })

  it('reports invalid arguments in a sentence', async () => {
    const closed = await new Promise<string>(resolve =>
      withServer(
        (_, response) => response.end(),
        async url => resolve(url),
      ),
    )
    const cases: readonly (readonly [RegExp, ...string[]])[] = [
      [/^"nonsense" is not the URL of a service: write it as/, '--from', 'nonsense'],
      [/is not the URL of a service/, '--from', 'file:///etc/passwd'],
      [/must not contain a user name or password/, '--from', 'http://ada:secret@localhost:1'],
      [/cannot be reached\. Is the service running there\?/, '--from', closed],
      [/cannot be resolved\. Is the name right\?/, '--from', 'http://no-such-host.invalid'],
      [/Use `--from` or `--model`, not both/, '--from', closed, '--model', blog],
      [/Write a header as/, '--from', closed, '--header', 'no colon'],
      [/Write a header as/, '--from', closed, '--header', 'X: a\r\nY: b'],
      [/`--check` needs `--out`/, '--check', '--model', blog],
      [/`--standalone` needs `--out`/, '--standalone', '--model', blog],
      [/`--standalone` needs the package as it is built/, '--standalone', '--model', blog, '--out', out],
      [/Cannot write to/, '--model', blog, '--out', join(blog, 'api.ts')],
      [/Cannot read/, '--model', blog, '--out', folder],
    ]
    for (const [message, ...words] of cases) await assert.rejects(generate(...words), { message })
  })
})
