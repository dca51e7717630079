/** Sign-up with further fields from the model, in a browser without JavaScript. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signUpFields, valuesOf } from '../../../../src/identity/accounts/sign-up/sign-up-fields.ts'
import { json, model, nobody, relation, role, string, users } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { FieldDeclaration } from '../../../../src/model/fields/declared.ts'
import { fieldOfModel, formName } from '../../../../src/web/pages/components/model-field.ts'
import asking from '../../../models/sign-up-fields.ts'
import type { Form, Page } from '../../conformance/browser.ts'
import {
  authorizationUrl,
  type Fixture,
  formWith,
  redirectUri,
  withFixture,
} from '../../conformance/server.ts'

const right = {
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  password: 'correct horse battery',
  field_handle: 'ada',
  field_company_name: ' Analytical Engines ',
  field_about: 'First line\nsecond line',
  field_age: '36',
  field_height: '1.65',
  field_plan: 'team',
  field_news: true,
  field_born_on: '1815-12-10',
  field_seen_at: '2026-01-31T12:00:00+01:00',
  field_homepage: 'https://example.com/ada',
  field_device: 'F81D4FAE-7DEC-41D0-A765-00A0C91E6BF6',
} as const

async function signUpForm({ browser }: Fixture, path = '/account/sign-up') {
  const visitor = browser()
  const page = await visitor.open(path)
  assert.ok('text' in page)
  const form = formWith(page, 'password')
  assert.ok(form, page.text)
  return { visitor, page, form }
}

function faultAt({ text }: Page, name: string): string | undefined {
  return new RegExp(`<span class="fault" id="${name}-fault">([^<]*)</span>`).exec(text)?.[1]
}

function fieldOf({ fields }: Form, name: string) {
  return fields.find(field => field.name === name)
}

test('every kind of field is on the form, and its value is stored', async () => {
  await withFixture(
    {},
    async fixture => {
      const { visitor, page, form } = await signUpForm(fixture)
      const types = Object.fromEntries(form.fields.map(({ name, type }) => [name, type]))
      assert.equal(types.field_notes, undefined)
      assert.deepEqual(
        ['handle', 'about', 'age', 'plan', 'news', 'born_on', 'homepage'].map(name => types[formName(name)]),
        ['text', 'textarea', 'text', 'select', 'checkbox', 'date', 'url'],
      )
      for (const label of ['Your handle', 'Company name', 'About you', 'Plan', 'Send me news'])
        assert.ok(page.text.includes(`>${label}</label>`), label)
      assert.equal(fieldOf(form, 'field_plan')?.value, 'free')
      assert.equal(fieldOf(form, 'field_news')?.checked, false)
      const created = await visitor.submit(form, right)
      assert.ok('text' in created && formWith(created, 'password'), 'text' in created ? created.text : '')
      const list = await fixture.call('/api/v1/users?email=ada@example.com', { key: fixture.admin.key })
      const [user] = (list.json as unknown as { data: Record<string, unknown>[] }).data
      const { id: _id, created_at: _at, ...stored } = user ?? {}
      assert.deepEqual(stored, {
        name: 'Ada Lovelace',
        email: 'ada@example.com',
        role: 'user',
        disabled: false,
        handle: 'ada',
        company_name: 'Analytical Engines',
        about: 'First line\nsecond line',
        age: 36,
        height: 1.65,
        plan: 'team',
        news: true,
        born_on: '1815-12-10',
        seen_at: '2026-01-31T11:00:00.000Z',
        homepage: 'https://example.com/ada',
        device: 'f81d4fae-7dec-41d0-a765-00a0c91e6bf6',
        notes: null,
      })
    },
    asking,
  )
})

test('missing and invalid values are reported at their fields, and the input is kept', async () => {
  await withFixture(
    {},
    async fixture => {
      const { visitor, form } = await signUpForm(fixture)
      const wrong = {
        ...right,
        field_handle: 'A!',
        field_age: 'old',
        field_born_on: '2026-02-30',
        field_homepage: 'javascript:alert(1)',
        field_company_name: '',
        field_plan: 'gold',
        field_news: false,
      }
      const page = await visitor.submit(form, wrong)
      assert.ok('text' in page)
      assert.equal(page.status, 400)
      for (const [name, says] of [
        ['handle', /^Your handle: /],
        ['age', /^Your age: /],
        ['born_on', /^Birthday: /],
        ['homepage', /^Your page: /],
        ['plan', /^Plan: /],
        ['company_name', /^Company name is required/],
      ] as const) {
        assert.match(faultAt(page, formName(name)) ?? '', says, name)
        assert.ok(page.text.includes(`<a href="#field_${name}">`), name)
      }
      for (const name of ['about', 'height', 'seen_at'])
        assert.equal(faultAt(page, formName(name)), undefined, name)
      const again = formWith(page, 'password')
      assert.ok(again)
      assert.equal(fieldOf(again, 'field_about')?.value, right.field_about)
      assert.equal(fieldOf(again, 'field_handle')?.value, 'A!')
      assert.equal(fieldOf(again, 'field_news')?.checked, false)
      const listed = [...page.text.matchAll(/<a href="#(\w+)">/g)].map(([, name]) => name)
      const inOrder = ['handle', 'company_name', 'age', 'plan', 'born_on', 'homepage']
      assert.deepEqual(listed.slice(-inOrder.length), inOrder.map(formName))
      assert.equal(fieldOf(again, 'password')?.value, '')
      assert.ok(!page.text.includes(right.password))
      const landed = await visitor.submit(again, { ...right, field_age: '12' })
      assert.ok('text' in landed)
      assert.match(faultAt(landed, 'field_age') ?? '', /13/)
      assert.equal(
        (await fixture.call('/api/v1/users?email=ada@example.com', { key: fixture.admin.key })).text.includes(
          'ada@',
        ),
        false,
      )
    },
    asking,
  )
})

test('a duplicate value of a unique field is reported at its field, without revealing whose it is', async () => {
  for (const signUp of ['open', 'confirmed'] as const) {
    await withFixture(
      { 'accounts.signUp': signUp },
      async fixture => {
        await fixture.call(`/api/v1/users/${fixture.ben.id}`, {
          method: 'PATCH',
          key: fixture.admin.key,
          body: { handle: 'ada' },
        })
        const { visitor, form } = await signUpForm(fixture)
        const page = await visitor.submit(form, right)
        assert.ok('text' in page)
        assert.equal(faultAt(page, 'field_handle'), 'Your handle is already taken.')
        assert.equal(faultAt(page, 'email'), undefined)
        const again = formWith(page, 'password')
        assert.ok(again)
        const landed = await visitor.submit(again, { ...right, field_handle: 'lovelace' })
        assert.ok('text' in landed && landed.status === 200, 'text' in landed ? landed.text : '')
      },
      asking,
    )
  }
})

test('a field that is not on the form cannot be set', async () => {
  await withFixture(
    {},
    async fixture => {
      const { visitor, form } = await signUpForm(fixture)
      const more = [
        'field_role',
        'role',
        'field_notes',
        'notes',
        'field_password_hash',
        'field_id',
        'field___proto__',
      ]
      const forged = {
        ...form,
        fields: [
          ...form.fields,
          ...more.map(name => ({ name, type: 'text', value: 'admin', checked: false })),
        ],
      }
      const landed = await visitor.submit(forged, right)
      assert.ok('text' in landed && landed.status === 200)
      const list = await fixture.call('/api/v1/users?email=ada@example.com', { key: fixture.admin.key })
      const [created] = (list.json as unknown as { data: { role: string; notes: string | null }[] }).data
      assert.deepEqual([created?.role, created?.notes], ['user', null])
    },
    asking,
  )
})

test('while an app’s request waits, sign-up has the same fields, and the request continues', async () => {
  await withFixture(
    {},
    async fixture => {
      const { client_id } = await fixture.app({ scopes: ['read:user'], default_scopes: ['read:user'] })
      const address = authorizationUrl(fixture.url, {
        client_id,
        redirect_uri: redirectUri,
        scope: 'read:user',
        state: 's',
      })
      const visitor = fixture.browser()
      const first = await visitor.open(address)
      assert.ok('text' in first)
      const page = await visitor.open(`${first.url.pathname}?page=sign-up`)
      const form = 'text' in page ? formWith(page, 'password') : undefined
      assert.ok(form)
      const created = await visitor.submit(form, right)
      const signIn = 'text' in created ? formWith(created, 'password') : undefined
      assert.ok(signIn)
      const consent = await visitor.submit(signIn, right)
      assert.ok(
        'text' in consent && consent.text.includes('You are signed in as ada@example.com.'),
        'text' in consent ? consent.text : '',
      )
    },
    asking,
  )
})

test('the model is refused if it asks for a field that a form cannot have', () => {
  const faults = (fields: Readonly<Record<string, FieldDeclaration>>) => {
    try {
      checkModel(model({ users: users({ fields }) }))
    } catch (error) {
      return String(error)
    }
    return ''
  }
  assert.match(
    faults({ a: json({ optional: true, signUp: true }) }),
    /users\.fields\.a\.signUp: A form cannot ask for a json field/,
  )
  assert.match(
    faults({ a_id: relation('users', { optional: true, signUp: true }) }),
    /A form cannot ask for a relation field/,
  )
  assert.match(
    faults({ a: string({ optional: true, internal: true, signUp: true }) }),
    /Clients cannot write this field/,
  )
  assert.match(
    faults({ a: string({ optional: true, readOnly: true, signUp: true }) }),
    /Clients cannot write this field/,
  )
  for (const write of [role('admin'), nobody])
    assert.match(
      faults({ a: string({ optional: true, access: { write }, signUp: true }) }),
      /its `write` rule forbids/,
    )
  assert.equal(faults({ a: string({ optional: true, signUp: true }) }), '')
})

test('a value is converted to its type, or left for the model to refuse', () => {
  const fields = signUpFields(checkModel(asking))
  const { values, missing } = valuesOf(
    fields,
    new Map([
      ['age', '7x'],
      ['plan', ''],
      ['news', ''],
    ]),
  )
  assert.deepEqual(values, { age: '7x', news: false })
  assert.ok(missing.has('plan') && missing.has('handle') && !missing.has('age') && !missing.has('news'))
})

test('labels, values and choices cannot break out of the form', () => {
  const evil = '"><script>alert(1)</script>'
  for (const schema of [
    { type: 'string' },
    { type: 'string', maxLength: 10 },
    { type: 'boolean' },
    { type: 'string', enum: [evil] },
  ]) {
    const { text: created } = fieldOfModel(
      { name: 'field_x', label: evil, schema, value: evil },
      new Map([['field_x', evil]]),
    )
    assert.ok(!created.includes('<script'), created)
  }
})
