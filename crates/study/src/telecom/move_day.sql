-- Moves the records of one day to a table of their own, in one transaction, by a statement that is put together from the name of that table:
-- the way of the published study.
CREATE PROCEDURE move_day(IN of_date DATE, IN day_table VARCHAR(64), OUT moved BIGINT UNSIGNED)
MODIFIES SQL DATA
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    ROLLBACK;
    RESIGNAL;
  END;

  SET @text = CONCAT('CREATE TABLE IF NOT EXISTS `', day_table, '` LIKE calls');
  PREPARE made FROM @text;
  EXECUTE made;

  START TRANSACTION;
  SET @text = CONCAT('INSERT INTO `', day_table, '` SELECT * FROM calls WHERE `start` >= ''', of_date,
    ''' AND `start` < ''', of_date + INTERVAL 1 DAY, '''');
  PREPARE made FROM @text;
  EXECUTE made;
  SET moved = ROW_COUNT();
  DEALLOCATE PREPARE made;

  DELETE FROM calls WHERE `start` >= of_date AND `start` < of_date + INTERVAL 1 DAY;
  IF ROW_COUNT() <> moved THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'other records were copied than deleted';
  END IF;
  COMMIT;
END
