/** Checks the JSON operations of `/account` against the OpenAPI document: their request bodies and their responses. */
import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { type Document, resolve } from '../../api/conformance/generate.ts'
import blog from '../../models/blog.ts'
import type { Answer } from '../../server/serve/service.ts'
import { postJson } from '../own-page.ts'

const document: Document = JSON.parse(JSON.stringify(openapi(checkModel(blog), undefined)))
const ajv = new Ajv2020({ strict: false })
formats.default(ajv)
ajv.addSchema({ ...document, $id: 'document:' }, 'document:')

const isValid = (schema: Document, value: unknown) => ajv.validate({ $ref: `document:${schema.$ref}` }, value)

/** Fails unless the document describes the response; a body that was accepted must fit its schema too. */
export function assertDocumented(method: 'get' | 'post', url: string, body: unknown, answer: Answer): void {
  const { pathname } = new URL(url)
  const operation = document.paths[pathname]?.[method]
  if (operation === undefined) return
  const { status, text } = answer
  const details = `${method} ${pathname} ${JSON.stringify(body)} → ${status} ${text}`
  const other = resolve(document, operation.responses.default)
  const response = operation.responses[status] ?? (other['x-statuses'].includes(status) ? other : undefined)
  assert.ok(response, details)
  const [type = ''] = (answer.headers.get('content-type') ?? '').split(';')
  const schema = response.content?.[type].schema
  assert.ok(
    schema === undefined ? text === '' : isValid(schema, answer.json),
    `${details} ${ajv.errorsText()}`,
  )
  const bodySchema = operation.requestBody?.content['application/json'].schema
  if (bodySchema && status < 300) assert.ok(isValid(bodySchema, body), `${details} ${ajv.errorsText()}`)
}

export async function post(...args: Parameters<typeof postJson>): Promise<Answer> {
  const answer = await postJson(...args)
  assertDocumented('post', args[0], args[1], answer)
  return answer
}
