/** A model with additional sign-up fields: one of each kind that a form can contain. */
import {
  boolean,
  choice,
  date,
  datetime,
  integer,
  model,
  number,
  string,
  text,
  url,
  users,
  uuid,
} from '../../src/index.ts'

const asking = model({
  users: users({
    fields: {
      handle: string({
        optional: true,
        unique: true,
        signUp: true,
        min: 3,
        max: 20,
        pattern: '^[a-z]+$',
        description: 'Your handle',
      }),
      company_name: string({ optional: true, signUp: true, max: 80 }),
      about: text({ optional: true, signUp: true, max: 1000, description: 'About you' }),
      age: integer({ optional: true, signUp: true, min: 13, max: 130, description: 'Your age' }),
      height: number({ optional: true, signUp: true, description: 'Your height in metres' }),
      plan: choice(['free', 'team'], { default: 'free', signUp: true, description: 'Plan' }),
      news: boolean({ default: false, signUp: true, description: 'Send me news' }),
      born_on: date({ optional: true, signUp: true, description: 'Birthday' }),
      seen_at: datetime({ optional: true, signUp: true, description: 'When did you hear of us?' }),
      homepage: url({ optional: true, signUp: true, description: 'Your page' }),
      device: uuid({ optional: true, signUp: true, description: 'Device number' }),
      notes: string({ optional: true, description: 'Nobody asks for these' }),
    },
  }),
})

export default asking
