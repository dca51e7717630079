/** The SQL function that counts the bytes of an answer on SQLite, and throws once there are too many: see `sqlite/read/answer-size.ts`. */
export const answerSizeFunction = '_within_answer'
