function splitQuery(query) {
  const words = query.match(/[\u3400-\u9fff]+|[\p{Letter}\p{Number}_]+/gu) || [];
  return words.flatMap((word) =>
    word < "\u3400" || word.length < 2 ? [word] : [...word].slice(1).map((_, n) => word.slice(n, n + 2)),
  );
}
