/** What the model check makes of `personal`. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  checkModel,
  collection,
  currentUser,
  type Declaration,
  model,
  relation,
  string,
  users,
} from '../../src/index.ts'
import { faultsOf, untyped } from './faults.ts'

/** The personal relations of a model and what a deletion does along them, e.g. `orders.buyer_id cascade`. */
function marksOf(declaration: Declaration): readonly string[] {
  return [...checkModel(declaration).collections.values()].flatMap(({ name, relations }) =>
    [...relations.values()].flatMap(found =>
      found.kind === 'one' && found.personal !== undefined
        ? [`${name}.${found.field} ${found.personal ? found.onDelete : 'not personal'}`]
        : [],
    ),
  )
}

describe('personal: true on a relation', () => {
  test('an item belongs to the person, or to whoever its target belongs to; a deletion cascades unless it says otherwise', () => {
    const declaration = model({
      orders: collection({ fields: { buyer_id: relation('users', { personal: true }) } }),
      lines: collection({ fields: { order_id: relation('orders', { personal: true }) } }),
      invoices: collection({
        fields: { order_id: relation('orders', { personal: true, onDelete: 'restrict' }) },
      }),
      reviews: collection({
        fields: {
          author_id: relation('users', { personal: true, optional: true, onDelete: 'clear' }),
          moderator_id: relation('users', { personal: false }),
          product_id: relation('users'),
        },
      }),
    })
    assert.deepEqual(marksOf(declaration), [
      'orders.buyer_id cascade',
      'lines.order_id cascade',
      'invoices.order_id restrict',
      'reviews.author_id clear',
      'reviews.moderator_id not personal',
    ])
  })

  test('the description of the field says so, wherever it is shown', () => {
    const declaration = model({
      orders: collection({
        fields: { buyer_id: relation('users', { personal: true, description: 'Who pays.' }) },
      }),
      lines: collection({ fields: { order_id: relation('orders', { personal: true }) } }),
    })
    const { collections } = checkModel(declaration)
    assert.equal(
      collections.get('orders')?.fields.get('buyer_id')?.description,
      'Who pays. The item is personal data of this person.',
    )
    assert.equal(
      collections.get('lines')?.fields.get('order_id')?.description,
      'The item is personal data of the person to whom this one belongs.',
    )
  })

  test('a circle, an account, and what leads to no person are refused at their places', () => {
    const declaration = model({
      users: users({ fields: { manager_id: relation('users', { optional: true, personal: true }) } }),
      comments: collection({
        fields: {
          author_id: relation('users', { personal: true }),
          parent_id: relation('comments', { optional: true, personal: true }),
        },
      }),
      replies: collection({ fields: { comment_id: relation('comments', { personal: true }) } }),
      products: collection({ fields: { name: string() } }),
      prices: collection({ fields: { product_id: relation('products', { personal: true }) } }),
      rebates: collection({ fields: { price_id: relation('prices', { personal: true }) } }),
    })
    const end =
      'The items of `products` belong to no person. Mark one of its relations `personal: true` too, or remove `personal` here.'
    assert.deepEqual(faultsOf(declaration), [
      'users.fields.manager_id.personal: An account belongs to its own person alone. Leave `personal` out.',
      'comments.fields.parent_id.personal: It leads back to `comments`, and so to no person. Remove `personal`.',
      `prices.fields.product_id.personal: ${end}`,
      `rebates.fields.price_id.personal: ${end}`,
    ])
  })

  test('a circle of several collections is refused at each of its relations', () => {
    const declaration = model({
      lefts: collection({ fields: { right_id: relation('rights', { personal: true }) } }),
      rights: collection({
        fields: {
          left_id: relation('lefts', { personal: true }),
          owner_id: relation('users', { personal: true }),
        },
      }),
    })
    assert.deepEqual(faultsOf(declaration), [
      'lefts.fields.right_id.personal: It leads back to `lefts`, and so to no person. Remove `personal`.',
      'rights.fields.left_id.personal: It leads back to `rights`, and so to no person. Remove `personal`.',
    ])
  })

  test('a person is at most five relations away', () => {
    const chain = (length: number) =>
      model({
        ...{ a1s: collection({ fields: { next_id: relation('users', { personal: true }) } }) },
        ...Object.fromEntries(
          Array.from({ length: length - 1 }, (_, index) => [
            `a${index + 2}s`,
            collection({ fields: { next_id: relation(`a${index + 1}s`, { personal: true }) } }),
          ]),
        ),
      } as never)
    assert.deepEqual(faultsOf(chain(5)), [])
    assert.deepEqual(faultsOf(chain(6)), [
      'a6s.fields.next_id.personal: The person is more than 5 relations away. Add a relation to `users`, and mark that one.',
    ])
  })

  test('the option is a flag of relations', () => {
    assert.deepEqual(
      faultsOf(
        model({
          notes: collection({
            fields: {
              title: string(untyped({ personal: true })),
              by_id: relation('users', untyped({ personal: 'yes' })),
            },
          }),
        }),
      ),
      [
        'notes.fields.title.personal: There is no option of this name.',
        'notes.fields.by_id.personal: Write true or false.',
      ],
    )
  })
})

describe('personal on a collection', () => {
  test('true marks its only relation to users, else the only one to what is personal; false marks none', () => {
    const declaration = model({
      projects: collection({ fields: { name: string() } }),
      orders: collection({
        personal: true,
        fields: { buyer_id: relation('users', { default: currentUser }), project_id: relation('projects') },
      }),
      lines: collection({
        personal: true,
        fields: { order_id: relation('orders'), project_id: relation('projects') },
      }),
      messages: collection({
        personal: true,
        fields: { sender_id: relation('users', { personal: false }), recipient_id: relation('users') },
      }),
      audits: collection({ personal: false, fields: { by_id: relation('users') } }),
    })
    assert.deepEqual(marksOf(declaration), [
      'orders.buyer_id cascade',
      'lines.order_id cascade',
      'messages.sender_id not personal',
      'messages.recipient_id cascade',
      'audits.by_id not personal',
    ])
  })

  test('what could mean several relations, none, or contradicts a relation is refused', () => {
    const declaration = model({
      messages: collection({
        personal: true,
        fields: { sender_id: relation('users'), recipient_id: relation('users') },
      }),
      products: collection({
        personal: true,
        fields: { parent_id: relation('products', { optional: true }) },
      }),
      notes: collection({ personal: true, fields: { by_id: relation('users', { personal: true }) } }),
      audits: collection({ personal: false, fields: { by_id: relation('users', { personal: true }) } }),
    })
    assert.deepEqual(faultsOf(declaration), [
      'messages.personal: It could mean `sender_id`, `recipient_id`. Write `personal: true` at the relation to the person instead, and `personal: false` at the others.',
      'products.personal: No relation leads to a person. Add one to `users`, or to a collection that is personal.',
      'notes.personal: `by_id` says so already. Remove one of them.',
      'audits.personal: `by_id` is `personal: true`. Remove one of them.',
    ])
  })

  test('the accounts are their own persons', () => {
    assert.deepEqual(faultsOf(model({ users: users(untyped({ personal: true })) })), [
      'users.personal: The collection is built in, so this option cannot be set. Remove it.',
    ])
  })
})
