/** Orders that a provider's webhook pays. A request can end the process at either side of the commit. */
import { anyone, collection, integer, model, route, string } from 'portico'

export const secret = 'whsec_of_the_payments'

const dieIf = (asked: string | undefined, point: string) => {
  if (asked === point) process.kill(process.pid, 'SIGKILL')
}

export default model(
  {
    accounts: collection({ fields: { name: string(), cents: integer({ default: 0 }) } }),
    payments: collection({ fields: { event: string(), cents: integer() } }),
  },
  {
    routes: {
      stripe: route({
        access: anyone,
        async run({ request, verify, once }) {
          verify.stripe(request, { secret })
          const { id, cents } = JSON.parse(request.text)
          const die = request.headers['x-die']
          const { repeated } = await once(id, async data => {
            const account = await data.asSystem.accounts.first({ sort: ['id'] })
            if (account === null) throw new Error('There is no account.')
            await data.asSystem.accounts.update(account.id, { cents: account.cents + cents })
            await data.asSystem.payments.create({ event: id, cents })
            dieIf(die, 'before')
          })
          dieIf(die, 'after')
          return { body: { repeated, pid: process.pid } }
        },
      }),
      limited: route({ access: anyone, rateLimit: { requests: 40 }, run: () => undefined }),
    },
  },
)
