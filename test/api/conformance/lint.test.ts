/** Linters of OpenAPI report no error in the documents, and only warnings that a model or an operator must resolve. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import blog from '../../models/blog.ts'
import rich from '../../models/rich.ts'
import values from '../../models/values.ts'
import { npmPackages } from '../../system/clients/installed.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-lint-'))
const models = { blog, rich, values }
let packages = ''

before(async () => {
  packages = await npmPackages('linters')
  writeFileSync(join(folder, 'ruleset.yaml'), 'extends: ["spectral:oas"]\n')
  for (const [name, declaration] of Object.entries(models)) {
    const document = openapi(checkModel(declaration), 'https://api.example.org')
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(document))
  }
})
after(() => rmSync(folder, { recursive: true, force: true }))

/** The output of a linter, which exits with 1 if it found errors. */
function lint(program: string, ...args: readonly string[]): Promise<string> {
  const environment = {
    PATH: process.env.PATH,
    HOME: folder,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  }
  const options = { cwd: folder, env: environment, maxBuffer: 2 ** 26, timeout: 300_000 }
  return new Promise((resolve, reject) =>
    execFile(process.execPath, [join(packages, '.bin', program), ...args], options, (_, out, err) =>
      out.trim() === '' ? reject(new Error(err)) : resolve(out),
    ),
  )
}

/** Only the operator knows the contact and the licence. */
const operators = ['info-contact', 'info-license']

/** Descriptions that the model does not have. */
const modelers = ['tag-description']

/** All errors share the `default` response, so that generators make one type of them. */
const intended = ['operation-4xx-response']

describe('OpenAPI linters', () => {
  for (const name of Object.keys(models)) {
    it(`Spectral reports nothing in the document of ${name}`, async () => {
      const out = await lint(
        'spectral',
        'lint',
        `${name}.json`,
        '--ruleset',
        'ruleset.yaml',
        '--format',
        'json',
      )
      const findings: readonly { readonly code: string }[] = JSON.parse(
        out.slice(0, out.lastIndexOf(']') + 1),
      )
      assert.deepEqual(
        findings.filter(({ code }) => !operators.includes(code)),
        [],
      )
    })

    it(`Redocly reports nothing in the document of ${name}`, async () => {
      const out = await lint(
        'redocly',
        'lint',
        `${name}.json`,
        '--extends',
        'recommended',
        '--format',
        'json',
      )
      const { problems, totals } = JSON.parse(out)
      assert.equal(totals.errors, 0)
      assert.deepEqual(
        problems.filter(
          ({ ruleId }: { ruleId: string }) => ![...operators, ...modelers, ...intended].includes(ruleId),
        ),
        [],
      )
    })
  }

  it('report duplicate operation ids', async () => {
    const document = JSON.stringify(openapi(checkModel(values), 'https://api.example.org'))
    writeFileSync(
      join(folder, 'wrong.json'),
      document.replaceAll('"items":{},', '').replace('"listThings"', '"getThing"'),
    )
    const spectral = await lint(
      'spectral',
      'lint',
      'wrong.json',
      '--ruleset',
      'ruleset.yaml',
      '--format',
      'json',
    )
    assert.match(spectral, /operation-operationId-unique/)
    const redocly = await lint(
      'redocly',
      'lint',
      'wrong.json',
      '--extends',
      'recommended',
      '--format',
      'json',
    )
    assert.match(redocly, /operation-operationId-unique/)
  })
})
